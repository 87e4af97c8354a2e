import { type AnyJobType, type AnyWorkflow, Holdfast, type HoldfastOptions } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker } from 'holdfast/worker'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Row } from './queue.js'

export interface FreshQueue {
  readonly url: string
  readonly holdfast: Holdfast
  sql(text: string, values?: unknown[]): Promise<Row[]>
  connect(): Promise<pg.Client>
  /** A worker in this process that runs these, or those of a file. */
  work(types: readonly (AnyJobType | AnyWorkflow)[] | URL): Promise<Worker>
}

const quiet = { info() {}, warn() {}, error() {} }

/** A queue with a worker in this process for the types that are given. `whenDone` takes what ends them: onTestFinished, or afterAll. */
export async function freshQueue(
  types: readonly AnyJobType[] = [],
  options: HoldfastOptions = {},
  whenDone: (end: () => Promise<void>) => void = onTestFinished,
): Promise<FreshQueue> {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  whenDone(() => scratch.drop())
  const url = scratch.connectionString
  const holdfast = new Holdfast({ ...options, connectionString: url })
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => {})
  whenDone(async () => {
    await Promise.all([holdfast.close(), pool.end()])
  })
  const queue: FreshQueue = {
    url,
    holdfast,
    sql: async (text, values) => (await pool.query(text, values)).rows,
    async connect() {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => {})
      await client.connect()
      whenDone(() => client.end().catch(() => {}))
      return client
    },
    async work(more) {
      const worker = await startWorker(holdfast, more, { logger: quiet })
      whenDone(() => worker.stop())
      return worker
    },
  }
  if (types.length > 0) await queue.work(types)
  return queue
}
