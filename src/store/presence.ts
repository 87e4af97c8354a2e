import pg from 'pg'
import { statement } from './queries.js'

const answerWithinMs = 5_000

/**
 * Shows the others on a shared server that somebody still uses it, so that the last one to leave, and no other, stops it.
 * A lock that lives with a connection: a process that was killed is present no more, without anybody clearing up after it.
 */
export class Presence {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /** Undefined where the server is being stopped or has just gone. */
  static async enter(connectionString: string): Promise<Presence | undefined> {
    const client = new pg.Client({
      connectionString,
      application_name: 'holdfast presence',
      connectionTimeoutMillis: answerWithinMs,
      query_timeout: answerWithinMs,
      keepAlive: true,
    })
    client.on('error', () => {})
    try {
      await client.connect()
      if ((await client.query(statement('showPresence').text)).rows[0]?.held === true) return new Presence(client)
    } catch {
      // Going away looks different at every moment of it; to the caller it is all the same.
    }
    await client.end().catch(() => {})
    return undefined
  }

  /** True: nobody else is here, and nobody can enter until `gone` is called or this process ends. */
  async leave(): Promise<{ alone: boolean; gone: () => Promise<void> }> {
    const gone = async () => void (await this.#client.end().catch(() => {}))
    try {
      await this.#client.query(statement('endPresence').text)
      return { alone: (await this.#client.query(statement('takeSoleUse').text)).rows[0]?.alone === true, gone }
    } catch {
      // The server went before us. Whoever asks it to stop finds that out.
      return { alone: true, gone }
    }
  }
}
