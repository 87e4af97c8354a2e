import { Holdfast, type Moved } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Oracle, startOracle } from '../support/oracle.js'
import { sized } from '../support/sized.js'

const races = sized({ sample: 500, whole: 10_000 })
const atOnce = sized({ sample: 100, whole: 500 })
let scratch: ScratchDatabase
let holdfast: Holdfast
let oracle: Oracle
let sql: pg.Client

beforeAll(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString, connections: 16 })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  oracle = await startOracle()
})
afterAll(async () => {
  await oracle.close()
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

async function rows<Row>(text: string): Promise<Row[]> {
  return (await sql.query(text)).rows as Row[]
}

describe('a cancel and the end of a handler at the same moment', () => {
  it(`agree ${races} times: answer, row, history and event name the same end`, { timeout: 300_000 }, async () => {
    const { connectionString } = scratch
    for (let i = 0; i < 2; i++) await oracle.startWorker({ connectionString, concurrency: 10, lease: '20s', acknowledged: false })
    const answers = new Map<string, Moved[]>()
    const failed: unknown[] = []
    const cancel = async (id: string) => {
      try {
        const answer = await holdfast.cancel(id, { by: 'ada', why: 'a race' })
        answers.set(id, [...(answers.get(id) ?? []), answer])
      } catch (error) {
        failed.push(error)
      }
    }
    // Each job is cancelled when its handler has just begun, and its handler takes about as long as that takes to arrive:
    // how long is found out on the way, so that each of the two wins about as often on any machine.
    let spread = 8
    let won = 0
    oracle.onSaid = ({ what, job, detail }) => {
      if (what === 'begin') void cancel(job)
      if (what === 'told') won += detail === 'job.cancelled' ? 1 : -1
    }
    for (let made = 0; made < races; made += atOnce) {
      spread *= won > 0 ? 0.7 : 1.4
      won = 0
      const jobs = Array.from({ length: atOnce }, () => ({ type: 'watched', payload: { ms: Math.random() * spread } }))
      const ids = (await holdfast.enqueueMany(jobs)).map((job) => job.id)
      // Some are cancelled wherever they stand: in the queue, just claimed, in a worker's line.
      await Promise.all(ids.slice(0, atOnce / 20).map(cancel))
      await vi.waitFor(() => expect(answers.size + failed.length).toBeGreaterThanOrEqual(made + atOnce), {
        timeout: 120_000,
        interval: 20,
      })
    }
    expect(failed).toEqual([])

    // Everything is reported: no lease, no slot and no cancellation is left.
    await vi.waitFor(
      async () =>
        expect(
          await rows(`select (select count(*)::int from holdfast.queue) as queue, (select count(*)::int from holdfast.leases) as leases,
                             (select count(*)::int from holdfast.cancellations) as cancellations`),
        ).toEqual([{ queue: 0, leases: 0, cancellations: 0 }]),
      { timeout: 60_000, interval: 100 },
    )
    const ended = await rows<{ id: string; status: string; ends: string[] }>(
      `select j.id, j.status, array(select h.outcome::text from holdfast.history as h where h.job_id = j.id) as ends from holdfast.jobs as j`,
    )
    expect(ended).toHaveLength(races)
    const disagreeing = () => {
      const begun = new Set(oracle.said.filter((said) => said.what === 'begin').map((said) => said.job))
      const told = new Map<string, (string | undefined)[]>()
      for (const { what, job, detail } of oracle.said) if (what === 'told') told.set(job, [...(told.get(job) ?? []), detail])
      return ended.filter(({ id, status, ends }) => {
        const given = answers.get(id) as Moved[]
        const cancels = given.filter((answer) => answer.done).length
        const expected = cancels === 0 ? 'completed' : 'cancelled'
        const events = told.get(id) ?? []
        // A job that was cancelled before any worker had it is told by none.
        const toldSo = events.join() === `job.${expected}` || (events.length === 0 && cancels === 1 && !begun.has(id))
        const answeredSo =
          cancels <= 1 && given.every((answer) => answer.status === expected && (answer.done || answer.was === expected))
        return !(status === expected && ends.join() === expected && toldSo && answeredSo)
      })
    }
    // The last events may still be on their way here.
    await vi.waitFor(() => expect(disagreeing()).toEqual([]), { timeout: 10_000, interval: 200 })
    const cancelled = ended.filter(({ status }) => status === 'cancelled').length
    // Both won often, or nothing was raced.
    expect(cancelled).toBeGreaterThan(races / 10)
    expect(cancelled).toBeLessThan(races - races / 10)
    expect(await rows(`select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()`)).toEqual([
      { deadlocks: 0 },
    ])
  })
})
