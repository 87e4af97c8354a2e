import { TokenBucket } from './token-bucket.js'

/** Tells the database how many requests were let in here, and answers with what is left for all servers. */
export type TellRequests = (count: number) => Promise<number>

const tellEveryMs = 500

/**
 * What a service may ask of all server processes together. Each lets requests in by itself, so that none costs a statement, and tells the others through
 * the database twice a second while there are any. So a burst may be let in by each server once; what was too much is paid back before the next
 * request. While the database is away each counts alone.
 */
export class SharedBucket {
  readonly #bucket: TokenBucket
  readonly #tell: TellRequests
  #untold = 0
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: number, tell: TellRequests) {
    this.#bucket = new TokenBucket(perSecond)
    this.#tell = tell
  }

  /** 0 if the request may pass, otherwise how many milliseconds to wait. */
  take(count: number): number {
    const wait = this.#bucket.take(count)
    if (wait === 0) this.#note(count)
    return wait
  }

  /** Takes more for a request that turned out to be more expensive. */
  spend(count: number): void {
    this.#bucket.spend(count)
    this.#note(count)
  }

  #note(count: number): void {
    this.#untold += count
    this.#timer ??= setTimeout(() => void this.#share(), tellEveryMs).unref()
  }

  async #share(): Promise<void> {
    const told = this.#untold
    this.#untold = 0
    try {
      const left = await this.#tell(told)
      // What was let in meanwhile is not in the answer.
      this.#bucket.lower(left - this.#untold)
    } catch {
      // It counts alone until the database answers.
    }
    this.#timer = undefined
    if (this.#untold > 0) this.#note(0)
  }
}
