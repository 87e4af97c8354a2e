import { FatalError, HoldfastError } from '../errors.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { FinishedStep, StepKind, StepWait, StoredStep, WaitingStep } from '../job/steps.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { StepStore } from '../store/step-store.js'
import { tryAgain } from '../store/try-again.js'

/**
 * A step that is done and not stored runs again, so that a short outage is waited for: about six seconds. Each of these statements may be
 * sent again: the second finds what the first wrote.
 */
const tries = 7

/** The steps of a worker's jobs. As secret as the payload: of a type that is encrypted, so are its steps. */
export class WorkerSteps {
  readonly #store: StepStore
  readonly #privacy: Privacy

  constructor(store: StepStore, privacy: Privacy) {
    this.#store = store
    this.#privacy = privacy
  }

  async read(job: ClaimedJob): Promise<StoredStep[]> {
    const rows = await this.#store.of(job.id)
    return rows.map(({ at: _, until: __, attempt: ___, ...step }) => ({
      ...step,
      result: this.#decrypt(job, step.kind, step.result),
    }))
  }

  /** False: the attempt no longer holds its lease. */
  async save(job: ClaimedJob, step: FinishedStep): Promise<boolean> {
    const stored = { ...step, result: this.#encrypt(job, step.result) }
    return tryAgain(tries, () => this.#store.save(job.id, job.lease, stored))
  }

  async wait(job: ClaimedJob, step: WaitingStep): Promise<StepWait> {
    const wait = await tryAgain(tries, () => this.#store.wait(job.id, job.lease, step))
    return { ...wait, result: this.#decrypt(job, step.kind, wait.result) }
  }

  #encrypt({ id, type: { type, encrypt } }: ClaimedJob, result: string | null): string | null {
    if (result === null || !this.#privacy.encrypts(encrypt)) return result
    try {
      return this.#privacy.encrypt(type, id, result, 'step')
    } catch (error) {
      throw error instanceof HoldfastError && error.code === 'payload_too_large' ? new FatalError(error.message) : error
    }
  }

  #decrypt({ id, type: { type, encrypt: encrypted } }: ClaimedJob, kind: StepKind, stored: string | null): string | null {
    if (stored === null) return null
    try {
      return this.#privacy.decrypt(id, stored, kind === 'signal' ? 'signal' : 'step', { type, encrypted })
    } catch (error) {
      throw error instanceof UnreadableError ? new FatalError(error.message) : error
    }
  }
}
