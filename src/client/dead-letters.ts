import type { MovedAnswer } from '../api/common.js'
import type { DlqQuery, LetterAnswer, LetterStoryAnswer, ManyAnswer, ManyBody, ReplayBody, ReplayManyBody } from '../api/dlq.js'
import { queryOf } from './query.js'
import { orUndefined, type Send } from './sender.js'

/** Dead letters over HTTP, in the fields of the API, for a key that may see or manage them. */
export class ClientDeadLetters {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** One page of dead letters, newest first. `next` is the cursor of the page after it; null: this was the last. */
  async list(query: DlqQuery = {}): Promise<{ letters: LetterAnswer[]; next: string | null }> {
    return (await this.#send<{ letters: LetterAnswer[]; next: string | null }>('GET', `/admin/dlq${queryOf(query)}`)).answer
  }

  /** One dead letter with its payload and every attempt; undefined where there is none. */
  async get(id: string): Promise<LetterStoryAnswer | undefined> {
    return orUndefined(this.#send<LetterStoryAnswer>('GET', pathOf(id)))
  }

  /** Replays a dead letter, with another payload where one is given. A job that is not dead is refused with `conflict`. */
  async replay(id: string, options: ReplayBody = {}): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('POST', `${pathOf(id)}/replay`, options)).answer
  }

  /** Ends a dead letter for good. A job that is not dead is refused with `conflict`. */
  async discard(id: string, options: { why?: string } = {}): Promise<MovedAnswer> {
    return (await this.#send<MovedAnswer>('POST', `${pathOf(id)}/discard`, options)).answer
  }

  /** Replays what fits a filter; counts only, unless `dry_run` is false. */
  async replayMany(asked: ReplayManyBody): Promise<ManyAnswer> {
    return (await this.#send<ManyAnswer>('POST', '/admin/dlq/replay', asked)).answer
  }

  /** Discards what fits a filter; counts only, unless `dry_run` is false. */
  async discardMany(asked: ManyBody): Promise<ManyAnswer> {
    return (await this.#send<ManyAnswer>('POST', '/admin/dlq/discard', asked)).answer
  }
}

function pathOf(id: string): string {
  return `/admin/dlq/${encodeURIComponent(id)}`
}
