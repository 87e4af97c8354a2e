import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { statement } from '../../src/store/queries.js'
import { asText } from '../../src/store/transaction.js'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { plansOf } from '../support/plans.js'
import { sized } from '../support/sized.js'

/**
 * The planner of somebody else's server, on statistics that are missing or wrong, must not be able to make a claim slow.
 * Not timed: which index a plan reads is a fact, how long it takes is the machine's affair.
 */
const many = sized({ sample: 50_000, whole: 200_000 })
let queue: BareQueue

beforeEach(async () => {
  queue = await makeBareQueue()
})

afterEach(() => queue.close())

interface Step {
  statement: string
  /** The index it must read. */
  index: string
  /** Its parameters, made of what is in the database. */
  values(client: pg.Client): Promise<unknown[]> | unknown[]
}

/** A few rows each, however many jobs there are: there is nothing better than to read them whole. */
const small = new Set<string | undefined>(['builds', 'types', 'lanes', 'pins', 'timeline'])

/** The statements that run all the time, and the index each must read. */
const steps: Step[] = [
  { statement: 'claimJobs', index: 'queue_claim', values: () => [1, queue.lane, null, 50, 60_000, fromTheHead, 50, null] },
  {
    statement: 'claimJobs',
    index: 'queue_claim',
    values: async (client) => [1, queue.lane, await idsOfTypes(client), 50, 60_000, fromTheHead, 50, null],
  },
  {
    statement: 'settleJobs',
    index: 'queue_by_job',
    async values(client) {
      const { rows } = await client.query('select id, jobs from holdfast.leases where worker_id = 1 order by id limit 1')
      const { id, jobs } = rows[0] as { id: string; jobs: string[] }
      const each = (value: unknown) => jobs.map(() => value)
      return [jobs, each(id), each('retry'), each('failed'), [], each(1), each(0), each(1000), 1, [id], [], []]
    },
  },
  { statement: 'tick', index: 'waiting_due_first', values: () => [50, '1970-01-01T00:00:00Z', [], true, null] },
  {
    statement: 'renewLeases',
    index: 'leases_pkey',
    async values(client) {
      const { rows } = await client.query('select id from holdfast.leases where worker_id = 2 limit 20')
      return [2, rows.map(({ id }) => id), rows.map(() => 60_000), 0, null, null, null]
    },
  },
  { statement: 'anyLeaseExpired', index: 'leases_lost_first', values: () => [] },
  {
    statement: 'rescueLeases',
    index: 'leases_lost_first',
    async values(client) {
      await client.query(`update holdfast.leases set expires_at = '2000-01-01' where worker_id = 1`)
      return [5, 1000, 2]
    },
  },
]

async function idsOfTypes(client: pg.Client): Promise<number[]> {
  return (await client.query('select id from holdfast.types')).rows.map(({ id }) => id)
}

async function fillEverything(): Promise<void> {
  // Here everything fails, and goes on being claimed.
  await queue.client.query(`select holdfast.operate_breaker('bare', 'hold_closed', holdfast.actor('the test'))`)
  await queue.fill(many)
  await queue.client.query(
    `
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select gen_random_uuid(), case when n % 2 = 0 then now() - interval '1 hour' else now() + interval '1 day' end,
           t.id, t.lane_id, 5, 1, 'scheduled'
    from generate_series(1, $1::integer) as n, holdfast.types as t`,
    [many],
  )
  await queue.client.query(`
    insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
    select -n, 2, now(), now() + interval '1 day', '{}' from generate_series(1, 20000) as n`)
  await queue.client.query(`
    insert into holdfast.workers (name, host, pid, version) select 'w' || n, 'h', n, '0' from generate_series(1, 5000) as n`)
}

/** Runs every step on that connection and checks what it read. */
async function checkPlans(client: pg.Client): Promise<void> {
  for (const step of steps) {
    const values = asText(await step.values(client))
    const nodes = await plansOf(client, () => client.query(statement(step.statement).text, values))
    const whole = nodes
      .filter((node) => node.type === 'Seq Scan')
      .map((node) => node.table)
      .filter((table) => !small.has(table))
    expect(whole, `${step.statement} reads no table whole`).toEqual([])
    expect(
      nodes.map((node) => node.index),
      `${step.statement} reads ${step.index}`,
    ).toContain(step.index)
  }
}

describe(`with ${many.toLocaleString('en')} jobs in the queue, as many waiting, and 20,000 leases, every step reads its index and no table whole`, () => {
  test('without any statistics, and with fresh ones', async () => {
    await fillEverything()
    await checkPlans(queue.client)
    await queue.client.query('analyze')
    await checkPlans(queue.client)
  }, 240_000)

  test('with statistics from when everything was empty, on a connection that planned then', async () => {
    await queue.client.query('analyze')
    const old = await queue.connect()
    await old.query(claim(50), [queue.lane, fromTheHead])
    await old.query(`select * from holdfast.tick(50, '1970-01-01')`)
    await old.query('select * from holdfast.rescue_leases(5, 1000)')
    await old.query(`select holdfast.settle_jobs('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 1, '{}')`)
    await fillEverything()
    await checkPlans(old)
  }, 240_000)
})

test('eight claimers at once never get more than they asked for, nor a job twice, whatever the planner may use', async () => {
  const jobs = 12_000
  const asked = 7
  await queue.fill(jobs)
  const settings = ['enable_hashjoin', 'enable_nestloop', 'enable_indexscan', 'enable_tidscan', 'enable_sort', 'enable_material']
  const claimers = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const client = await queue.connect()
      if (settings[i]) await client.query(`set ${settings[i]} = off`)
      return client
    }),
  )
  const taken: string[] = []
  await Promise.all(
    claimers.map(async (client) => {
      for (;;) {
        const { rows } = await client.query(claim(asked), [queue.lane, fromTheHead])
        if (rows.length === 0) return
        expect(rows.length).toBeLessThanOrEqual(asked)
        expect(new Set(rows.map((row) => row.lease_id)).size).toBe(1)
        taken.push(...rows.map((row) => row.job_id))
      }
    }),
  )
  expect(taken).toHaveLength(jobs)
  expect(new Set(taken).size).toBe(jobs)
}, 240_000)
