import type { ClaimedJob } from '../job/claimed.js'
import type { LogEntry } from '../job/log-entry.js'
import { decodePayload, encodePayload } from '../job/payload.js'
import type { FinishedStep, StepWait, StoredStep, WaitingStep } from '../job/steps.js'
import type { InlineServices, TaskInHand } from '../run/services.js'
import type { CompletionState, CompletionStatement } from '../store/completion-store.js'
import { statement } from '../store/queries.js'
import type { JobRun, RunJobOptions, RunStep, Transact } from './run-job.js'

/** `leftMs`: how long a sleep or wait still takes; null: for ever. */
type KeptStep = StoredStep & { leftMs: number | null }

/** What stands behind the steps that a run shows, for the run after it. By the list, because a run may have been copied. */
const behind = new WeakMap<readonly RunStep[], readonly KeptStep[]>()

/** What a worker does for a handler, done in memory and kept to be looked at. */
export class HandServices implements InlineServices {
  readonly transact: Transact
  readonly #options: RunJobOptions
  readonly #log: JobRun['log'] = []
  readonly #progress: JobRun['progress'] = []
  readonly #steps: Map<string, KeptStep>
  #checkpoint: string | null
  /** What the handler gave to completeWith, as JSON; null: nothing. */
  result: string | null = null

  constructor(options: RunJobOptions, transact: Transact) {
    const { after, lastCheckpoint = after?.checkpoint } = options
    const passedMs = after?.nextInMs ?? 0
    const kept = after ? (behind.get(after.steps) ?? []) : []
    this.transact = transact
    this.#options = options
    this.#checkpoint = lastCheckpoint === undefined ? null : encodePayload(lastCheckpoint, 'lastCheckpoint')
    this.#steps = new Map(
      kept.map((step) => [step.name, { ...step, leftMs: step.leftMs === null ? null : step.leftMs - passedMs }]),
    )
  }

  /** Everything that the handler did. */
  seen(): Pick<JobRun, 'log' | 'progress' | 'checkpoint' | 'steps'> {
    const kept = [...this.#steps.values()].sort((one, other) => one.position - other.position)
    const steps = kept.map(({ name, kind, state, result }) => ({ name, kind, state, result: decoded(result) }))
    behind.set(steps, kept)
    return { log: this.#log, progress: this.#progress, checkpoint: decoded(this.#checkpoint), steps }
  }

  async extendLease(): Promise<boolean> {
    return true
  }

  log(_: ClaimedJob, entry: LogEntry): void {
    if (entry.kind === 'line') this.#log.push({ level: entry.level, line: entry.line })
    else this.#progress.push({ fraction: entry.fraction, note: entry.note })
  }

  async saveCheckpoint(_: ClaimedJob, json: string): Promise<boolean> {
    this.#checkpoint = json
    return true
  }

  async readCheckpoint(): Promise<string | null> {
    return this.#checkpoint
  }

  /** There is no job to complete; whether the handler's transaction is committed is for its test to see. */
  async completion(_: ClaimedJob, { result }: { result: string | null }): Promise<CompletionStatement> {
    this.result = result
    return { text: statement('pretendCompletion').text, values: [] }
  }

  async completionStands(): Promise<CompletionState> {
    return 'written'
  }

  async readSteps(): Promise<StoredStep[]> {
    return [...this.#steps.values()].map(({ leftMs: _, ...step }) => step)
  }

  async saveStep(_: ClaimedJob, step: FinishedStep): Promise<boolean> {
    this.#steps.set(step.name, { ...step, state: 'completed', leftMs: null })
    return true
  }

  async waitStep(_: ClaimedJob, { ms, ...step }: WaitingStep): Promise<StepWait> {
    const { signals = {} } = this.#options
    const known = this.#steps.get(step.name)
    const leftMs = known ? known.leftMs : ms
    const came = step.kind === 'signal' && Object.hasOwn(signals, step.name)
    if (came || (leftMs !== null && leftMs <= 0)) {
      const result = came ? encodePayload(signals[step.name], `signals.${step.name}`) : null
      this.#steps.set(step.name, { ...step, state: 'completed', result, leftMs: null })
      return { held: true, state: 'completed', result, left: null }
    }
    this.#steps.set(step.name, { ...step, state: 'waiting', done: null, result: null, leftMs })
    return { held: true, state: 'waiting', result: null, left: leftMs }
  }

  async readTask({ id, type }: ClaimedJob): Promise<TaskInHand | null> {
    const { parents, input } = this.#options
    if (parents === undefined && input === undefined) return null
    const returned = Object.entries(parents ?? {}).map(([name, value]) => [name, encoded(value, `parents.${name}`)])
    const about = { execution: id, workflow: 'by_hand', name: type.type, item: null }
    return { ...about, input: encodePayload(input ?? null, 'input'), parents: Object.fromEntries(returned) }
  }
}

function encoded(value: unknown, name: string): string | null {
  return value === undefined ? null : encodePayload(value, name)
}

function decoded(json: string | null): unknown {
  return json === null ? undefined : decodePayload(json)
}
