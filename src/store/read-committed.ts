import type pg from 'pg'

const begin = 'begin isolation level read committed'

/**
 * Every statement here counts on seeing what was committed before it, not before its transaction, so all of them run in read committed.
 * Where the server, the database or the role has another default, a statement by itself gets a transaction that says so: two round
 * trips more, on such servers alone. A setting of the connection would be the caller's where the pool is theirs, and somebody else's
 * behind a pooler.
 */
export class ReadCommitted {
  /** Whether a statement by itself runs in it; undefined: nobody has asked yet. */
  #usual: boolean | undefined
  readonly #inTransaction = new WeakSet<pg.ClientBase>()

  /** A connection is new: its default may be another. */
  readonly ask = (): void => {
    this.#usual = undefined
  }

  async run(client: pg.ClientBase, query: pg.QueryConfig): Promise<pg.QueryResult> {
    const { text } = query
    if (text.startsWith('begin')) {
      this.#inTransaction.add(client)
      return client.query({ ...query, text: text.replace('begin', begin) })
    }
    if (text === 'commit' || text === 'rollback') {
      this.#inTransaction.delete(client)
      return client.query(query)
    }
    if (this.#inTransaction.has(client) || (await this.#isUsual(client, query))) return this.#heeding(client.query(query))
    await client.query({ ...only(query), text: begin })
    let result: pg.QueryResult
    try {
      result = await client.query(query)
    } catch (error) {
      // Where this fails, its error says that the connection is of no more use.
      await client.query({ ...only(query), text: 'rollback' })
      throw error
    }
    await client.query({ ...only(query), text: 'commit' })
    return result
  }

  async #isUsual(client: pg.ClientBase, query: pg.QueryConfig): Promise<boolean> {
    if (this.#usual === undefined) {
      const { rows } = await client.query({ ...only(query), text: 'show default_transaction_isolation' })
      this.#usual = rows[0]?.default_transaction_isolation === 'read committed'
    }
    return this.#usual
  }

  /** In read committed there is no such failure: somebody has changed the default. */
  async #heeding(answer: Promise<pg.QueryResult>): Promise<pg.QueryResult> {
    try {
      return await answer
    } catch (error) {
      if ((error as { code?: string }).code === '40001') this.ask()
      throw error
    }
  }
}

/** The query's patience without its text and values. */
function only(query: pg.QueryConfig): object {
  return { query_timeout: (query as { query_timeout?: number }).query_timeout }
}
