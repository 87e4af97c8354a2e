import type { Database } from './database.js'
import { statement } from './queries.js'

/** The webhook of a type as it is stored. */
export interface WebhookRow {
  type: string
  url: string
  kinds: readonly string[]
  /** Encrypted if there are keys. */
  secret: string
}

/** The webhooks of types. */
export class WebhookStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Sets the webhooks of these types, and removes those of the types that have none. */
  async define(types: readonly string[], webhooks: readonly WebhookRow[]): Promise<void> {
    await this.#database.query(statement('defineWebhooks'), [types, JSON.stringify(webhooks)])
  }

  /** Where to send and what to sign with; undefined: the type has no webhook any more. */
  async of(type: string): Promise<{ url: string; secret: string } | undefined> {
    return (await this.#database.query<{ url: string; secret: string }>(statement('webhookOfType'), [type]))[0]
  }
}
