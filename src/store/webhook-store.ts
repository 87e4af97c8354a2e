import type { Database } from './database.js'
import type { StoredWebhook } from './new-job.js'
import { statement } from './queries.js'

/** The webhook of a type as it is stored. */
export interface WebhookRow extends StoredWebhook {
  type: string
}

/** Where to send and what to sign with. */
export interface WebhookSecrets {
  url: string
  secrets: string[]
}

/** The webhooks of types and of single jobs. */
export class WebhookStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Sets the webhooks of these types, and removes those of the types that have none. */
  async define(types: readonly string[], webhooks: readonly WebhookRow[]): Promise<void> {
    await this.#database.query(statement('defineWebhooks'), [types, JSON.stringify(webhooks)])
  }

  /** Undefined: the type has no webhook any more. */
  async ofType(type: string): Promise<WebhookSecrets | undefined> {
    return (await this.#database.query<WebhookSecrets>(statement('webhookOfType'), [type]))[0]
  }

  /** Undefined: the job was forgotten. */
  async ofJob(job: string): Promise<WebhookSecrets | undefined> {
    return (await this.#database.query<WebhookSecrets>(statement('webhookOfJob'), [job]))[0]
  }

  /** Those of the next jobs that have webhooks, by their ids. */
  secrets(after: string, limit: number): Promise<(WebhookSecrets & { id: string })[]> {
    return this.#database.query(statement('jobWebhookSecrets'), [after, limit])
  }

  /** False: somebody has changed them since. */
  async putSecrets(job: string, was: readonly string[], made: readonly string[]): Promise<boolean> {
    return (await this.#database.query(statement('putJobWebhookSecrets'), [job, was, made])).length > 0
  }
}
