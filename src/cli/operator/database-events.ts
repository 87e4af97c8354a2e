import type { EventQuery } from '../../api/events.js'
import type { ClientEventPage } from '../../client/events.js'
import type { Holdfast } from '../../holdfast.js'
import { defined } from '../defined.js'
import type { Operator } from './operator.js'

type Events = Operator['events']

/** The feed of events, as the HTTP client reads it. */
export class DatabaseEvents implements Pick<Events, keyof Events> {
  readonly #holdfast: Holdfast

  constructor(holdfast: Holdfast) {
    this.#holdfast = holdfast
  }

  async page({ after, type, kind, tags, limit }: EventQuery = {}): Promise<ClientEventPage> {
    const asked = {
      after,
      types: type === undefined ? undefined : [type],
      kinds: kind === undefined ? undefined : [kind],
      tags,
      limit,
    }
    const page = await this.#holdfast.events.page(defined(asked))
    return { ...page, events: page.events.map((event) => ({ ...event, tags: [...event.tags], at: event.at.toISOString() })) }
  }
}
