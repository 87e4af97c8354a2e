import type { ClaimBody, HeartbeatBody, Report, Result, StepBody, VitalsBody } from '../api/worker.js'
import { type SendOptions, sender } from '../client/sender.js'
import { HoldfastError } from '../errors.js'
import type { StepKind } from '../job/steps.js'

/** What an operator has ordered: to finish what is running and to claim no more. */
export interface Orders {
  drain: { why: string | null } | null
}

export interface RemoteJob {
  id: string
  lease: string
  lease_ms: number
  type: string
  priority: number
  attempt: number
  max_attempts: number
  created_at: string
  payload: unknown
  version: number
  /** It stands in a sleep or in the wait for a signal. */
  waits?: boolean
  checkpoint?: unknown
  traceparent?: string
  scheduled_for?: string
}

export interface RemoteStepAnswer {
  name: string
  kind: StepKind
  state: 'waiting' | 'completed'
  result?: unknown
  left_ms?: number
}

export interface RemoteStoredStepAnswer extends RemoteStepAnswer {
  position: number
  after: number | null
  done: number | null
}

export interface RemoteTaskAnswer {
  execution: { id: string; workflow: string; task: string; item: number | null; input: unknown }
  parents: Record<string, unknown>
}

export interface SettledAnswer {
  job: string
  settled: boolean
  already?: boolean
  code?: string
  /** What the job is after this attempt. */
  status?: string
}

type Held = Readonly<{ job: string; lease: string }>

/** What a handler waits for is asked again for about half a minute; then its attempt fails, and the next one goes on from what is stored. */
const patientTries = 8

/** The requests of a remote worker. docs/worker-protocol.md says what each does. */
export class WorkerCalls {
  readonly #send: ReturnType<typeof sender>
  readonly #vitals: () => VitalsBody
  #token = ''

  /** `vitals`: what this worker says of its process with each claim and heartbeat. */
  constructor(server: { url: string; key: string; timeoutMs: number }, vitals: () => VitalsBody) {
    this.#vitals = vitals
    this.#send = sender({ ...server, tries: patientTries })
  }

  /** Registers, also again. The caller repeats it where the server is away. */
  async register(body: {
    name: string
    types: (string | object)[]
    host: string
    pid: number
    version: string
    payload_versions: Record<string, number>
  }): Promise<number> {
    const { worker, id } = await this.#post<{ worker: string; id: number }>('register', body, { once: true })
    this.#token = worker
    return id
  }

  claim(body: Omit<ClaimBody, 'worker'>, waitMs: number, signal: AbortSignal): Promise<Orders & { jobs: RemoteJob[] }> {
    return this.#post('claim', { ...this.#worker, ...body, wait: waitMs, vitals: this.#vitals() }, { once: true, waitMs, signal })
  }

  /** Sent once: the next one comes soon, and says what this one would have said. */
  heartbeat(body: Omit<HeartbeatBody, 'worker'>): Promise<Orders & { lost: string[]; cancelled: string[] }> {
    return this.#post('heartbeat', { ...this.#worker, ...body, vitals: this.#vitals() }, { once: true })
  }

  /** Keeps a report before its handler goes on. Answers with the jobs of which nothing was kept. */
  async report(reports: Report[]): Promise<string[]> {
    return (await this.#post<{ unrecorded: string[] }>('heartbeat', { ...this.#worker, leases: [], reports })).unrecorded
  }

  /** Renews one lease for that long. False: it is lost. */
  async extend(lease: string, ms: number): Promise<boolean> {
    return (await this.#post<{ lost: string[] }>('heartbeat', { ...this.#worker, leases: [lease], lease: ms })).lost.length === 0
  }

  async steps(held: Held): Promise<RemoteStoredStepAnswer[]> {
    return (await this.#post<{ steps: RemoteStoredStepAnswer[] }>('steps', { ...this.#worker, ...held })).steps
  }

  step(body: Omit<StepBody, 'worker'>): Promise<RemoteStepAnswer> {
    return this.#post('step', { ...this.#worker, ...body })
  }

  task(held: Held): Promise<RemoteTaskAnswer> {
    return this.#post('task', { ...this.#worker, ...held })
  }

  /** Sent once: whoever sends it keeps the results, and sends them again with those that have come meanwhile. */
  async settle(results: Result[]): Promise<SettledAnswer[]> {
    return (await this.#post<{ results: SettledAnswer[] }>('settle', { ...this.#worker, results }, { once: true })).results
  }

  async signOff(): Promise<void> {
    await this.#post('sign-off', this.#worker, { once: true })
  }

  get #worker(): { worker: string } {
    return { worker: this.#token }
  }

  async #post<Answer>(path: string, body: object, options?: SendOptions): Promise<Answer> {
    return (await this.#send<Answer>('POST', `/worker/${path}`, body, options)).answer
  }
}

/** The server did not answer, or asks to try again later. */
export function isAway(error: unknown): boolean {
  return error instanceof HoldfastError && error.retryable
}

/** The server knows this worker no more: whatever it held is no longer its own. */
export function isForgotten(error: unknown): boolean {
  return error instanceof HoldfastError && error.code === 'unknown_worker'
}

export function isLost(error: unknown): boolean {
  return error instanceof HoldfastError && (error.code === 'lease_lost' || error.code === 'unknown_worker')
}
