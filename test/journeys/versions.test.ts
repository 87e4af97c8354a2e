import { defineType, type Holdfast } from 'holdfast'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const ada = { by: 'ada', why: 'tested' }
const once = { maxAttempts: 1, limits: { breaker: false } } as const

/** The type as it was at one time; each notes what its handler was given. */
function ofVersion(version: number, ran: unknown[], more: object = {}) {
  const upcast = Object.fromEntries(
    Array.from({ length: version - 1 }, (_, n) => [
      n + 1,
      (payload: { steps: number[] }) => ({ steps: [...payload.steps, n + 1] }),
    ]),
  )
  return defineType({ type: 'greet', version, upcast, ...once, ...more, run: (payload) => void ran.push(payload) })
}
const versions = async (queue: Queue) =>
  (await queue.sql('select coalesce(version, 1) as version from holdfast.bodies order by id')).map(({ version }) => version)
const statusOf = async (holdfast: Holdfast, id: string) => (await holdfast.job(id))?.status

test('jobs of older versions run with the handler of today, brought up to date step by step and checked by its schema', async () => {
  const queue = await makeQueue()
  const ran: unknown[] = []
  const payload = z.object({ steps: z.array(z.number()).length(2) })
  const [old, today] = [ofVersion(1, ran), ofVersion(3, ran, { payload })]
  const first = await queue.holdfast.enqueue(old, { steps: [] })
  await startHere(queue, [today])
  await queue.holdfast.wait(first)
  // A producer that has not been deployed yet goes on enqueueing what it knows; by name it is the newest.
  await queue.holdfast.wait(await queue.holdfast.enqueue(old, { steps: [] }))
  await queue.holdfast.wait(await queue.holdfast.enqueue('greet', { steps: [7, 7] }))
  await queue.holdfast.wait(
    (await queue.sql(`select id from holdfast.enqueue('greet', '{"steps": [8]}', '{"version": 2}')`))[0]?.id,
  )
  expect(ran).toEqual([{ steps: [1, 2] }, { steps: [1, 2] }, { steps: [7, 7] }, { steps: [8, 2] }])
  expect(await versions(queue)).toEqual([1, 1, 3, 2])
  const many = await queue.holdfast.enqueueMany([old.job({ steps: [] }), today.job({ steps: [9, 9] })])
  await Promise.all(many.map((job) => queue.holdfast.wait(job)))
  expect(ran.slice(4)).toEqual(expect.arrayContaining([{ steps: [1, 2] }, { steps: [9, 9] }]))
})

test('a job that is newer than every worker is blocked, explain says so, and a worker with its version takes it at once', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const ran: unknown[] = []
  const [old, next] = [ofVersion(1, ran), ofVersion(2, ran)]
  await startHere(queue, [old])
  const plain = await holdfast.enqueue(next, { steps: [2] })
  const later = await holdfast.enqueue(next, { steps: [2] }, { delay: 50 })
  const asks = await holdfast.enqueue(next, { steps: [2] }, { approval: true })
  expect(await statusOf(holdfast, plain.id)).toBe('blocked')
  await holdfast.approve(asks.id, ada)
  await eventually(
    async () => (await statusOf(holdfast, later.id)) === 'blocked' && (await statusOf(holdfast, asks.id)) === 'blocked',
  )
  expect((await holdfast.explain(plain.id))?.gates).toMatchObject([
    {
      gate: 'version',
      why: 'its payload is of version 2, and no worker knows a newer one of greet than 1',
      opens: expect.stringMatching(/version 2/),
    },
  ])
  expect(await holdfast.runNow(plain.id, ada)).toMatchObject({ done: false, because: /newer version than every worker knows/ })
  expect(await holdfast.reschedule(plain.id, { delay: '1h' }, ada)).toMatchObject({ done: false, because: /newer version/ })
  const far = await holdfast.enqueue(next, { steps: [2] }, { delay: '1h' })
  expect(await holdfast.runNow(far.id, ada)).toMatchObject({ done: true, status: 'blocked' })
  await holdfast.cancel(far.id, ada)
  // The old worker goes on with what it can read.
  await holdfast.wait(await holdfast.enqueue(old, { steps: [] }))
  expect(ran).toEqual([{ steps: [] }])
  await startHere(queue, [next])
  await Promise.all([plain, later, asks].map((job) => holdfast.wait(job)))
  expect(ran.slice(1)).toEqual([{ steps: [2] }, { steps: [2] }, { steps: [2] }])
  await eventually(async () => (await queue.sql('select from holdfast.newer_jobs')).length === 0)
})

test('an old worker beside a new one passes over jobs that are too new, also through a gate, and claims none of them', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const [byOld, byNew]: [unknown[], unknown[]] = [[], []]
  const [old, next] = [ofVersion(1, byOld), ofVersion(2, byNew)]
  const newer = await startHere(queue, [next])
  await newer.stop()
  await startHere(queue, [old])
  const jobs = await holdfast.enqueueMany(Array.from({ length: 40 }, () => next.job({ steps: [2] })))
  await holdfast.wait(await holdfast.enqueue(old, { steps: [] }))
  await holdfast.flow.limit('greet', { maxRunning: 5 }, ada)
  await holdfast.wait(await holdfast.enqueue(old, { steps: [] }))
  expect((await holdfast.explain(jobs[0]?.id as string))?.gates[0]).toMatchObject({ gate: 'version' })
  expect(await queue.sql('select from holdfast.history where job_id = any ($1)', [jobs.map(({ id }) => id)])).toEqual([])
  await startHere(queue, [next])
  await Promise.all(jobs.map((job) => holdfast.wait(job)))
  expect(byOld).toEqual([{ steps: [] }, { steps: [] }])
  expect(byNew).toHaveLength(40)
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
})

test.each([
  ['a limit', { maxRunning: 5 }, 2_100],
  ['a limit per key', { maxRunningPerKey: 2 }, 60],
] as const)(
  'through %s an old worker finds what it can read behind any number of jobs that are too new',
  async (_, limits, newer) => {
    const queue = await makeQueue()
    const { holdfast } = queue
    const [old, next] = [ofVersion(1, []), ofVersion(2, [])]
    await holdfast.registerTypes([next])
    await holdfast.flow.limit('greet', limits, ada)
    await holdfast.enqueueMany(Array.from({ length: newer }, () => next.job({ steps: [2] }, { concurrencyKey: 'a' })))
    const readable = await holdfast.enqueueMany(Array.from({ length: 3 }, () => old.job({ steps: [] }, { concurrencyKey: 'a' })))
    await startHere(queue, [old])
    await Promise.all(readable.map((job) => holdfast.wait(job)))
    expect(await queue.sql('select count(*)::integer as ended from holdfast.history')).toEqual([{ ended: 3 }])
  },
)

test('a replaced payload has the version of the newcomer', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const ran: unknown[] = []
  const [old, next] = [ofVersion(1, ran), ofVersion(2, ran)]
  const unique = { key: 'one', onConflict: 'replace' } as const
  const job = await holdfast.enqueue(old, { steps: [] }, { unique })
  await holdfast.enqueue(next, { steps: [5] }, { unique })
  expect(await versions(queue)).toEqual([2])
  const worker = await startHere(queue, [old])
  await eventually(async () => (await statusOf(holdfast, job.id)) === 'scheduled')
  await worker.stop()
  await startHere(queue, [next])
  await holdfast.runNow(job.id, ada)
  await holdfast.wait(job)
  expect(ran).toEqual([{ steps: [5] }])
})

test('a dead job that is replayed with another payload has the version of today, and one replayed as it is keeps its own', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const ran: unknown[] = []
  const failing = defineType({ type: 'greet', ...once, run: () => Promise.reject(new Error('no')) })
  const jobs = await holdfast.enqueueMany([failing.job({ steps: [] }), failing.job({ steps: [] })])
  const worker = await startHere(queue, [failing])
  const [edited, kept] = jobs.map(({ id }) => id) as [string, string]
  for (const id of [edited, kept]) await expect(holdfast.wait(id)).rejects.toMatchObject({ code: 'job_dead' })
  await worker.stop()
  await startHere(queue, [ofVersion(3, ran)])
  await holdfast.deadLetters.replay(edited, ada, { payload: { steps: [9] } })
  await holdfast.wait(edited)
  await holdfast.deadLetters.replay(kept, ada)
  await holdfast.wait(kept)
  // What was written today is not brought up to date once more.
  expect(ran).toEqual([{ steps: [9] }, { steps: [1, 2] }])
  expect(await versions(queue)).toEqual([3, 1])
})

test('a missing upcast ends the job dead and names the version; a wrong one is refused at definition', async () => {
  const queue = await makeQueue()
  const gap = defineType({ type: 'greet', version: 3, upcast: { 2: (payload: unknown) => payload }, ...once, run() {} })
  const job = await queue.holdfast.enqueue('greet', {}).catch(() => undefined)
  expect(job).toBeUndefined()
  const first = await queue.holdfast.enqueue(ofVersion(1, []), {})
  await startHere(queue, [gap])
  await expect(queue.holdfast.wait(first)).rejects.toMatchObject({
    reason: 'fatal',
    lastError: { message: 'the payload is of version 1, and the upcast of greet has no function for it' },
  })
  expect(() => defineType({ type: 'a', version: 0 })).toThrow('version')
  expect(() => defineType({ type: 'a', version: 2, upcast: { 2: () => 1 } })).toThrow('from 1 to 1')
})

test('jobs that a worker can read at last go on beside any number that failed to and are set aside', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  await holdfast.registerTypes([ofVersion(1, [])])
  const next = ofVersion(2, [])
  await holdfast.enqueueMany(Array.from({ length: 20 }, () => next.job({ steps: [] })))
  await queue.sql(`select holdfast.put_aside('versions', n.job_id::text, 'refused') from holdfast.newer_jobs as n`)
  const { id } = await holdfast.enqueue(next, { steps: [] })
  await holdfast.registerTypes([next], { update: true })
  await queue.sql(`select * from holdfast.tick(5, '-infinity')`)
  expect(await statusOf(holdfast, id)).toBe('pending')
})
