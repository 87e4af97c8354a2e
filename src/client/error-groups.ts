import type { ErrorAnswer, ErrorGroupAnswer, ErrorsQuery } from '../api/errors.js'
import { queryOf } from './query.js'
import { orUndefined, type Send } from './sender.js'

/** Error groups over HTTP, in the fields of the API, for a key that may see workers. */
export class ClientErrorGroups {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** The groups that had a failure lately. */
  async list(query: ErrorsQuery = {}): Promise<ErrorGroupAnswer[]> {
    return (await this.#send<{ groups: ErrorGroupAnswer[] }>('GET', `/errors${queryOf(query)}`)).answer.groups
  }

  /** One group, of each type that has it; undefined where none is kept. */
  async get(fingerprint: string, query: { since?: string } = {}): Promise<ErrorAnswer | undefined> {
    return orUndefined(this.#send<ErrorAnswer>('GET', `/errors/${encodeURIComponent(fingerprint)}${queryOf(query)}`))
  }
}
