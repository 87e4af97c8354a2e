import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { addOrphans } from '../support/expired-leases.js'
import { eventually } from '../support/facts.js'
import { startOwnServer } from '../support/own-server.js'
import { makeQueue, work } from '../support/queue.js'
import { sized } from '../support/sized.js'
import { startHere } from '../support/worker-here.js'

const leases = sized({ sample: 6_000, whole: 30_000 })

test(`${leases} expired leases do not stop new work: it runs while they are being rescued`, async () => {
  const queue = await makeQueue()
  await addOrphans(queue, { leases })
  const ran: unknown[] = []
  const run = ({ fresh }: { fresh?: number }) => void (fresh && ran.push(fresh))
  await startHere(queue, [defineType({ type: 'work', run })], { lease: '10s', concurrency: 50 })
  const expired = async () =>
    (await queue.sql('select count(*)::int as left from holdfast.leases where expires_at < now()'))[0]?.left
  await eventually(async () => (await expired()) < leases - 1_000)
  const left: number[] = []
  for (let fresh = 1; fresh <= 5; fresh++) {
    // First in line, so that it waits for nothing but the rescue, if that is in the way.
    await queue.holdfast.enqueue(work, { fresh }, { priority: 9 })
    await eventually(() => ran.includes(fresh))
    left.push(await expired())
  }
  expect(left.at(-1)).toBeGreaterThan(0)
  await eventually(
    async () => {
      const [row] = await queue.sql("select count(*)::int as done from holdfast.history where outcome = 'completed'")
      return row?.done === leases + 5
    },
    { within: 90_000 },
  )
  const [twice] = await queue.sql("select count(*)::int as rows from holdfast.history where outcome = 'lease_expired'")
  expect(twice?.rows).toBe(leases)
}, 180_000)

test('Postgres crashes in the middle of a rescue: every orphan is recovered after it, each lost lease counted once', async () => {
  const server = await startOwnServer()
  const queue = await makeQueue(server.url)
  // So slow that the rescue of 250 leases takes a while, and the crash comes in the middle of one of its statements.
  await queue.sql(`create function dawdle() returns trigger language plpgsql as 'begin perform pg_sleep(0.01); return new; end'`)
  await queue.sql(`create trigger dawdle before insert on holdfast.history for each row when (new.outcome = 'lease_expired') execute function dawdle()`) // biome-ignore format: one statement
  await startHere(queue, [defineType({ type: 'work', run() {} })], { lease: '2s' })
  const recovered = async (jobs: string[]) =>
    (
      await queue.sql(
        `select job_id from holdfast.attempts where worker = 'dead' and outcome = 'lease_expired' and job_id = any ($1)`,
        [jobs],
      )
    ).length
  for (const intoIt of sized({ sample: ['300ms'], whole: ['0ms', '300ms', '900ms'] })) {
    const jobs = await addOrphans(queue, { leases: 250 })
    await eventually(
      async () => {
        const rescues = "query like '-- rescueLeases%' and state = 'active' and clock_timestamp() - query_start > $1::interval"
        return (await queue.sql(`select from pg_stat_activity where ${rescues}`, [intoIt])).length > 0
      },
      { every: 1 },
    )
    await server.crash()
    await server.start()
    await eventually(async () => {
      const rows = await queue.sql("select id from holdfast.jobs where id = any ($1) and status = 'completed'", [jobs])
      return rows.length === 250
    })
    expect(await recovered(jobs)).toBe(250)
  }
}, 180_000)
