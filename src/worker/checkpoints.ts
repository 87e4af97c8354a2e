import { FatalError } from '../errors.js'
import type { ClaimedJob } from '../job/claimed.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { LogStore } from '../store/log-store.js'

/** Where attempts are to go on. As secret as the payload: of a type that is encrypted, so are its checkpoints. */
export class Checkpoints {
  readonly #store: LogStore
  readonly #privacy: Privacy

  constructor(store: LogStore, privacy: Privacy) {
    this.#store = store
    this.#privacy = privacy
  }

  /** False: the attempt no longer holds its lease. */
  async save({ id, lease, type }: ClaimedJob, json: string): Promise<boolean> {
    const kept = this.#privacy.encrypts(type.encrypt) ? this.#privacy.encrypt(type.type, id, json, 'checkpoint') : json
    return this.#store.saveCheckpoint(id, lease, kept)
  }

  async read({ id, type: { type, encrypt } }: ClaimedJob): Promise<string | null> {
    const kept = await this.#store.checkpoint(id)
    try {
      return kept === null ? null : this.#privacy.decrypt(id, kept, 'checkpoint', { type, encrypted: encrypt })
    } catch (error) {
      throw error instanceof UnreadableError ? new FatalError(error.message) : error
    }
  }
}
