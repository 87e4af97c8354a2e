import { defineType } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually } from '../support/facts.js'
import { makeQueue, work } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const claim =
  'select unnest(ids) as job_id, unnest(priorities) as priority from holdfast.claim_jobs(1, 1::smallint, null, $1, 60000, array_fill(0, array[10])::bigint[])'

describe('a claim', () => {
  test('takes no job twice and never more than asked, whatever the planner believes', async () => {
    const queue = await makeQueue()
    await queue.sql('alter table holdfast.queue set (autovacuum_enabled = false)')
    await queue.holdfast.enqueueMany(Array.from({ length: 10_000 }, (_, n) => work.job({}, { priority: n % 10 })))
    const beliefs = ['enable_hashjoin', 'enable_mergejoin', 'enable_nestloop', 'enable_indexscan', 'enable_bitmapscan', 'enable_material', 'enable_tidscan', 'enable_sort'] // biome-ignore format: one list
    const claimed = await Promise.all(
      beliefs.map(async (belief, n) => {
        const client = await queue.connect()
        await client.query(`set ${belief} = off`)
        const mine: string[] = []
        for (let asked = 1 + n; ; asked = 1 + ((asked * 7) % 50)) {
          const { rows } = await client.query(claim, [asked])
          expect(rows.length).toBeLessThanOrEqual(asked)
          mine.push(...rows.map(({ job_id }) => job_id))
          if (rows.length === 0) return mine
        }
      }),
    )
    const all = claimed.flat()
    expect(new Set(all).size).toBe(10_000)
    expect(all).toHaveLength(10_000)
    // Everybody had a share: they did claim at the same time.
    for (const mine of claimed) expect(mine.length).toBeGreaterThan(0)
  }, 60_000)

  test('takes higher priorities first, and the oldest first inside one', async () => {
    const queue = await makeQueue()
    const priorities = [5, 0, 9, 5, 3, 9, 0, 5]
    const jobs = await queue.holdfast.enqueueMany(priorities.map((priority) => work.job({}, { priority })))
    const order: number[] = []
    for (let n = 0; n < priorities.length; n++) {
      const [row] = await queue.sql(claim, [1])
      order.push(jobs.findIndex(({ id }) => id === row?.job_id))
    }
    expect(order).toEqual([2, 5, 0, 3, 7, 4, 1, 6])
  })

  test('lets a low priority move: each minute of waiting counts as one priority', async () => {
    const queue = await makeQueue()
    const old = await queue.holdfast.enqueue(work, {}, { priority: 0 })
    await queue.sql("update holdfast.queue set ready_at = ready_at - interval '6 minutes'")
    const [fresh, important] = await queue.holdfast.enqueueMany([work.job({}, { priority: 5 }), work.job({}, { priority: 9 })])
    const order = []
    for (let n = 0; n < 3; n++) order.push((await queue.sql(claim, [1]))[0]?.job_id)
    expect(order).toEqual([important?.id, old.id, fresh?.id])
  })
})

describe('a worker', () => {
  test('runs what it prefetched in the order of priority too', async () => {
    const queue = await makeQueue()
    const ran: number[] = []
    const type = defineType({ type: 'work', run: (_payload, { job }) => void ran.push(job.priority) })
    // Teaches the worker that its handlers are quick, so that it claims many at once.
    await startHere(queue, [type], { concurrency: 1 })
    await queue.holdfast.enqueueMany(Array.from({ length: 100 }, () => type.job({}, { priority: 9 })))
    await eventually(() => ran.length === 100)
    ran.length = 0
    await queue.holdfast.enqueueMany(Array.from({ length: 400 }, (_, n) => type.job({}, { priority: Math.floor((n % 40) / 4) })))
    await eventually(() => ran.length === 400)
    // Jobs that are claimed in several bites mix at the seams; inside a bite nothing low runs before something high.
    const inversions = ran.filter((priority, at) => at > 0 && priority > (ran[at - 1] as number)).length
    expect(inversions).toBeLessThan(20)
  })

  test('of three that start at once executes each job once', async () => {
    for (let round = 0; round < 2; round++) {
      const queue = await makeQueue()
      await queue.holdfast.enqueueMany(Array.from({ length: 300 }, () => work.job({})))
      await Promise.all([1, 2, 3].map(() => queue.worker({ lease: '60s' })))
      await eventually(() => queue.ledger.finishes().length >= 300)
      await eventually(async () => (await queue.sql("select from holdfast.history where outcome = 'completed'")).length === 300)
      expect(new Set(queue.ledger.starts().map(({ job }) => job)).size).toBe(300)
      expect(queue.ledger.starts()).toHaveLength(300)
    }
  }, 120_000)

  test('runs 48 of 50 though two have bodies that cannot be read, and those end dead', async () => {
    const queue = await makeQueue()
    const ran: number[] = []
    const schema = z.object({ n: z.number() })
    const type = defineType({ type: 'work', payload: schema, run: ({ n }) => void ran.push(n) })
    const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 50 }, (_, n) => type.job({ n })))
    await queue.sql(`update holdfast.bodies set payload = '{"n": "no number"}' where id = $1`, [jobs[7]?.id])
    await queue.sql('delete from holdfast.bodies where id = $1', [jobs[30]?.id])
    await startHere(queue, [type], { concurrency: 50 })
    await eventually(() => ran.length === 48)
    const dead = await eventually(async () => {
      const rows = await queue.sql(
        "select job_id, reason, error ->> 'message' as message from holdfast.dead_letters order by job_id",
      )
      return rows.length === 2 && rows
    })
    expect(dead).toMatchObject([
      { job_id: jobs[7]?.id, reason: 'fatal', message: expect.stringContaining('does not fit') },
      { job_id: jobs[30]?.id, reason: 'fatal', message: expect.stringContaining('missing') },
    ])
  })

  test('whose slots are all blocked gives back what it prefetched, and another runs it', async () => {
    const queue = await makeQueue()
    const ran: string[] = []
    let release = () => {}
    const type = defineType({
      type: 'work',
      run(payload: { stuck?: boolean }, { job }) {
        ran.push(job.id)
        return payload.stuck ? new Promise<void>((resolve) => { release = resolve }) : undefined // biome-ignore format: one thought
      },
    })
    const options = { concurrency: 1, lease: '60s' }
    const blocked = await startHere(queue, [type], options)
    let handedBack = 0
    blocked.events.on('job.handed_back', () => handedBack++)
    // Quick ones first, so that it learns to prefetch.
    await queue.holdfast.enqueueMany(Array.from({ length: 100 }, () => type.job({}, { priority: 9 })))
    await eventually(() => ran.length === 100)
    await queue.holdfast.enqueueMany([
      type.job({ stuck: true }, { priority: 9 }),
      ...Array.from({ length: 40 }, () => type.job({})),
    ])
    await eventually(
      async () => handedBack > 0 && (await queue.sql('select from holdfast.queue where lease_id is null')).length === 40,
    )
    // And it does not claim them again and again while it is blocked, keeping them from others for a second each time.
    const claims = async () => (await queue.sql('select last_value::int, clock_timestamp() as now from holdfast.lease_seq'))[0]
    const before = await claims()
    await eventually(async () => (await claims())?.now - before?.now > 3_000)
    expect((await claims())?.last_value).toBe(before?.last_value)

    await startHere(queue, [type], options)
    await eventually(() => ran.length === 141)
    release()
    await eventually(async () => (await queue.sql('select from holdfast.queue')).length === 0)
    // Nothing of that was an attempt.
    expect(await queue.sql("select from holdfast.history where outcome <> 'completed' or attempt <> 1")).toEqual([])
  })
})
