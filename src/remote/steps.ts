import { HoldfastError, LeaseLostError } from '../errors.js'
import type { StepKind, StepPosition, StoredStep } from '../job/steps.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { HeldAttemptRow } from '../store/remote-rows.js'
import type { Store } from '../store/store.js'
import type { RemoteAttempt } from './results.js'
import type { RemoteWorker } from './workers.js'

/** A step as a remote worker calls it. `after`: how many steps this attempt has completed before; left out where branches run side by side. */
export interface CalledStep {
  name: string
  kind: StepKind
  after?: number
  /** How many it has completed with it, where the worker has checked the order itself. */
  done?: number
}

/** A step that is stored, and its position among the others. */
export type RemoteStoredStep = RemoteStep & Pick<StoredStep, 'position' | 'after' | 'done'>

/** A step with its result as JSON; null: it returned nothing. `leftMs`: how long it still waits; null: for ever. */
export interface RemoteStep {
  name: string
  kind: StepKind
  state: 'waiting' | 'completed'
  result: string | null
  leftMs?: number | null
}

/**
 * The steps of jobs that remote workers run. The server does what the context of a handler does elsewhere: it decrypts, names the position of a
 * step among the others, and refuses one that is not where earlier attempts had it.
 */
export class RemoteSteps {
  readonly #store: Store
  readonly #privacy: Privacy

  constructor(store: Store, privacy: Privacy) {
    this.#store = store
    this.#privacy = privacy
  }

  /** What earlier attempts, and this one, have stored. */
  async read(worker: RemoteWorker, attempt: RemoteAttempt): Promise<RemoteStoredStep[]> {
    const held = await this.#held(worker, attempt)
    const rows = await this.#store.log.steps.of(attempt.job)
    return rows.map((row) => ({ ...row, result: this.#decrypt(held, row.kind, row.result) }))
  }

  /** Stores what a step came to. One that is stored already stays as it is, and is the answer. */
  async save(worker: RemoteWorker, attempt: RemoteAttempt, called: CalledStep, result: string | null): Promise<RemoteStep> {
    const held = await this.#held(worker, attempt)
    const { stored, position } = await this.#find(attempt.job, called)
    const { name, kind } = called
    if (stored) return { name, kind, state: 'completed', result: this.#decrypt(held, kind, stored.result) }
    const encrypted =
      result !== null && this.#privacy.encrypts(held.encrypted)
        ? this.#privacy.encrypt(held.type, held.id, result, 'step')
        : result
    if (!(await this.#store.log.steps.save(attempt.job, attempt.lease, { ...position, result: encrypted })))
      throw new LeaseLostError(attempt.job)
    return { name, kind, state: 'completed', result }
  }

  /** Begins a sleep or the wait for a signal, or looks whether it is over. `ms`: how long; null: for ever. */
  async wait(worker: RemoteWorker, attempt: RemoteAttempt, called: CalledStep, ms: number | null): Promise<RemoteStep> {
    const held = await this.#held(worker, attempt)
    const { position } = await this.#find(attempt.job, called)
    const wait = await this.#store.log.steps.wait(attempt.job, attempt.lease, { ...position, ms })
    if (!wait.held) throw new LeaseLostError(attempt.job)
    const { name, kind } = called
    if (wait.state === 'completed') return { name, kind, state: 'completed', result: this.#decrypt(held, kind, wait.result) }
    return { name, kind, state: 'waiting', result: null, leftMs: wait.left }
  }

  async #held(worker: RemoteWorker, attempt: RemoteAttempt): Promise<HeldAttemptRow> {
    const [held] = await this.#store.remote.held(worker.id, [attempt], false)
    if (!held) throw new LeaseLostError(attempt.job)
    return held
  }

  async #find(job: string, called: CalledStep): Promise<{ stored: StoredStep | undefined; position: StepPosition }> {
    const rows = await this.#store.log.steps.of(job)
    const stored = rows.find(({ name }) => name === called.name)
    refuseChanged(called.done === undefined ? called : { name: called.name, kind: called.kind }, stored, rows)
    const completed = rows.filter(({ state }) => state === 'completed').length
    const position = stored?.position ?? Math.max(0, ...rows.map((row) => row.position)) + 1
    const after = stored ? stored.after : (called.after ?? null)
    const { name, kind } = called
    return { stored, position: { name, kind, position, after, done: called.done ?? (called.after ?? completed) + 1 } }
  }

  #decrypt({ id, type, encrypted }: HeldAttemptRow, kind: StepKind, stored: string | null): string | null {
    if (stored === null) return null
    try {
      return this.#privacy.decrypt(id, stored, kind === 'signal' ? 'signal' : 'step', { type, encrypted })
    } catch (error) {
      // Another server may have the keys.
      throw error instanceof UnreadableError ? new HoldfastError('encryption_keys_missing', error.message) : error
    }
  }
}

/** Whoever says after how many steps it calls one, calls one after the other: at that position there is one step. */
function refuseChanged(called: CalledStep, stored: StoredStep | undefined, rows: readonly StoredStep[]): void {
  const { name, kind, after } = called
  if (stored && stored.kind !== kind) throw changed(`"${name}" is called as a ${kind} and was stored as a ${stored.kind}`)
  if (after === undefined || stored?.after === after || stored?.after === null) return
  const other = rows.find((row) => row.name !== name && row.after !== null && (stored ? row.after === after : row.after >= after))
  if (other) throw changed(`"${name}" is called after ${after} steps, where "${other.name}" was stored`)
}

function changed(problem: string): HoldfastError {
  return new HoldfastError('step_changed', `step ${problem}: the handler was changed under a job that had begun`)
}
