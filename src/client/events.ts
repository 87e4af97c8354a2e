import type { EventAnswer, EventQuery } from '../api/events.js'
import { followPages } from '../job/follow-pages.js'
import { refuseUnknown, wholeNumber } from '../job/refused.js'
import { queryOf } from './query.js'
import type { Send } from './sender.js'

/** One page of events. */
export interface ClientEventPage {
  events: EventAnswer[]
  /** The cursor to read on from. It moves on also if no event fits. */
  next: string
  /** There may be more already. */
  more: boolean
}

/** How `follow` reads. */
export interface ClientFollowOptions extends Omit<EventQuery, 'limit'> {
  /**
   * How long to wait before the next request if there was nothing.
   * @range 10 to 3,600,000
   * @default 5_000
   */
  pollMs?: number
  /**
   * Ends the loop when it fires.
   * @default none
   */
  signal?: AbortSignal
}

/** What happened to jobs, by a cursor that the reader keeps: each event at least once, in one order. */
export class ClientEvents {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** One page: at most `limit` events (100) after a cursor, or from the first that is kept. */
  async page(query: EventQuery = {}): Promise<ClientEventPage> {
    return (await this.#send<ClientEventPage>('GET', `/events${queryOf(query)}`)).answer
  }

  /** Every event after a cursor, and then those that come, until the signal fires or the loop is left; `cursor` is where to go on. */
  follow(options: ClientFollowOptions = {}): AsyncIterable<EventAnswer> & { readonly cursor: string | undefined } {
    refuseUnknown(options, ['after', 'type', 'kind', 'tags', 'pollMs', 'signal'])
    const { pollMs = 5_000, signal, ...query } = options
    wholeNumber(pollMs, 'pollMs', 10, 3_600_000)
    const read = (after: string | undefined) => this.page({ ...query, ...(after !== undefined && { after }) })
    return followPages(read, { after: query.after, pollMs, signal })
  }
}
