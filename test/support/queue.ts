import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { eventually } from './facts.js'
import { type Ledger, openLedger } from './ledger.js'
import { planned } from './planned.js'
import { type Program, runProgram } from './processes.js'

/** The type that worker-program.mjs runs; its payload says what it does. */
export const work = defineType({ type: 'work' })

export interface Row {
  // biome-ignore lint/suspicious/noExplicitAny: a test asks for whatever columns it needs
  [column: string]: any
}

/** A queue of its own for one test: database, ledger, producer, and workers as processes. All gone when the test ends. */
export interface Queue {
  readonly url: string
  readonly holdfast: Holdfast
  readonly ledger: Ledger
  sql(text: string, values?: unknown[]): Promise<Row[]>
  /** A connection of its own, for locks and for telling its backend apart. */
  connect(): Promise<pg.Client>
  /** A worker process that claims and whose heart beats: from here on short leases are safe on a busy machine. */
  worker(
    worker?: object,
    more?: { workers?: number; [setting: string]: unknown },
    options?: { args?: string[] },
  ): Promise<Program>
}

export async function makeQueue(serverUrl = process.env.HOLDFAST_TEST_URL as string): Promise<Queue> {
  const scratch = await makeScratchDatabase(serverUrl)
  onTestFinished(() => scratch.drop())
  return openQueue(scratch.connectionString)
}

/** The same in a database that is there already. */
export function openQueue(url: string): Queue {
  const ledger = openLedger()
  const holdfast = new Holdfast({ connectionString: url })
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => {})
  onTestFinished(async () => {
    await Promise.all([holdfast.close(), pool.end()])
  })
  return {
    url,
    holdfast,
    ledger,
    async sql(text, values = []) {
      return (await pool.query(planned(text, values))).rows
    },
    async connect() {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      onTestFinished(() => client.end().catch(() => {}))
      return client
    },
    async worker(worker = {}, more: { workers?: number } = {}, options = {}) {
      const program = runProgram('worker-program', { database: url, ledger: ledger.path, worker, ...more }, options)
      await program.heard('ready')
      await eventually(async () => {
        const beating = 'select from holdfast.workers where pid = $1 and seen_at > started_at'
        return (await pool.query(planned(beating, [program.pid]))).rowCount === (more.workers ?? 1)
      })
      return program
    },
  }
}
