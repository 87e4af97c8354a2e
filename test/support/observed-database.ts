import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { planned } from './planned.js'

export interface Row {
  // biome-ignore lint/suspicious/noExplicitAny: a test asks for whatever columns it needs
  [column: string]: any
}

/** A database of its own for one test, and a way to look at it that breaks with nothing the test breaks. */
export interface ObservedDatabase {
  readonly url: string
  readonly name: string
  sql(text: string, values?: unknown[]): Promise<Row[]>
  /** A connection of its own. */
  connect(): Promise<pg.Client>
  /** How many jobs stand where, such as { completed: 20 }. */
  counts(): Promise<Record<string, number>>
  /** How each job's attempts ended, first to last, by job. */
  endings(): Promise<Map<string, string[]>>
}

export async function makeObservedDatabase(serverUrl = process.env.HOLDFAST_TEST_URL as string): Promise<ObservedDatabase> {
  const { connectionString: url, drop } = await makeScratchDatabase(serverUrl)
  const pool = new pg.Pool({ connectionString: url, max: 2, application_name: 'observer' })
  pool.on('error', () => {})
  onTestFinished(async () => {
    await pool.end()
    await drop()
  })
  const sql = async (text: string, values: unknown[] = []): Promise<Row[]> => (await pool.query(planned(text, values))).rows
  return {
    url,
    name: new URL(url).pathname.slice(1),
    sql,
    async connect() {
      const client = new pg.Client({ connectionString: url, application_name: 'observer' })
      client.on('error', () => {})
      await client.connect()
      onTestFinished(() => client.end().catch(() => {}))
      return client
    },
    async counts() {
      const rows = await sql('select status, count(*)::integer as count from holdfast.jobs group by status')
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
    },
    async endings() {
      const rows = await sql(
        'select job_id::text as id, array_agg(outcome::text order by ended_at, attempt) as outcomes from holdfast.history group by job_id',
      )
      return new Map(rows.map(({ id, outcomes }) => [id, outcomes]))
    },
  }
}
