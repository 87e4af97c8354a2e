import { defineType, defineWorkflow } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { statement } from '../../src/store/queries.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { adminKey, type Serving, serve } from '../support/serving.js'
import { startHere } from '../support/worker-here.js'

const mail = defineType({ type: 'mail', maxAttempts: 1, limits: { breaker: false } })
const who = { by: 'ada' }
let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

test('jobs have the tags they were enqueued with, from the library, with others, from SQL and when they are replaced', async () => {
  const { holdfast, sql } = await makeQueue()
  const plain = await holdfast.enqueue(mail, {})
  const one = await holdfast.enqueue(mail, {}, { tags: ['spring', 'say "hi", {you}', 'spring'] })
  const many = await holdfast.enqueueMany([mail.job({}, { tags: ['a'] }), mail.job({}), mail.job({}, { tags: [], delay: '1h' })])
  const [row] = await sql(`select id from holdfast.enqueue('mail', '{}', '{"tags": ["from sql", "b"]}')`)
  const unique = { key: 'k', onConflict: 'replace' } as const
  const first = await holdfast.enqueue(mail, { n: 1 }, { unique, tags: ['old'], delay: '1h' })
  await holdfast.enqueue(mail, { n: 2 }, { unique, tags: ['new'], delay: '1h' })
  const tags = await Promise.all(
    [plain, one, ...many, row as { id: string }, first].map(async ({ id }) => (await holdfast.job(id))?.tags),
  )
  expect(tags).toEqual([[], ['spring', 'say "hi", {you}'], ['a'], [], [], ['from sql', 'b'], ['new']])
  const [none] = await sql('select count(*)::int as count from holdfast.bodies where tags is null')
  expect(none?.count).toBe(3)
})

test('too many tags, or tags that are no short texts, are refused from everywhere', async () => {
  const { holdfast, sql } = await makeQueue()
  const nine = Array.from({ length: 9 }, (_, n) => `t${n}`)
  for (const tags of [nine, ['x'.repeat(101)], [''], [7], 'spring']) {
    const asked = holdfast.enqueue(mail, {}, { tags: tags as string[] })
    await expect(asked).rejects.toMatchObject({ code: 'invalid_option', field: expect.stringMatching(/^tags/) })
    const options = JSON.stringify({ tags: Array.isArray(tags) && tags[0] === 7 ? [null] : tags })
    await expect(sql(`select holdfast.enqueue('mail', '{}', $1)`, [options])).rejects.toThrow('option tags is')
  }
})

test('tags filter lists, moves and dead letters: a job that fits has all of them', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const ids = (await holdfast.enqueueMany(['a', 'b', 'b'].map((tag) => mail.job({}, { tags: [tag, 'all'], delay: '1h' })))).map(
    ({ id }) => id,
  )
  expect((await holdfast.jobs({ tags: ['b'] })).jobs.map(({ id }) => id)).toEqual([ids[2], ids[1]])
  expect((await holdfast.jobs({ tags: ['all', 'b'] })).jobs.map(({ id }) => id)).toEqual([ids[2], ids[1]])
  expect((await holdfast.jobs({ tags: ['a', 'b'] })).jobs).toEqual([])
  expect(await holdfast.cancelMany({ tags: ['a', 'b'] }, who)).toMatchObject({ done: 0 })
  for (const one of [
    holdfast.jobs({ tags: [] }),
    holdfast.cancelMany({ tags: [] }, who),
    holdfast.deadLetters.list({ tags: [] }),
  ])
    await expect(one).rejects.toMatchObject({ code: 'invalid_option', field: 'tags' })
  expect(await holdfast.cancelMany({ tags: ['a'] }, who)).toMatchObject({ done: 1 })
  const fails = defineType({
    ...{ type: 'mail', maxAttempts: 1, limits: { breaker: false } },
    run: () => Promise.reject(new Error('no')),
  })
  await startHere(queue, [fails])
  await holdfast.runNowMany({ tags: ['b'] }, who)
  const other = await holdfast.enqueue(mail, {}, { tags: ['c'] })
  await eventually(async () => (await holdfast.deadLetters.list()).letters.length === 3)
  expect((await holdfast.deadLetters.list({ tags: ['b', 'c'] })).letters).toEqual([])
  const dead = await holdfast.deadLetters.list({ tags: ['all', 'b'] })
  expect(dead.letters.map(({ id }) => id).sort()).toEqual(ids.slice(1))
  expect(await holdfast.deadLetters.discardMany({ tags: ['b'] }, who)).toMatchObject({ done: 2 })
  expect((await holdfast.deadLetters.list()).letters.map(({ id }) => id)).toEqual([other.id])
})

test('tags filter the feed of events, from the library and over HTTP', async () => {
  const { holdfast } = serving
  await holdfast.registerTypes([mail])
  const client = new HoldfastClient({ url: serving.address, key: adminKey })
  const { next: after } = await holdfast.events.page({ after: 'now' })
  const jobs = await holdfast.enqueueMany(['x', 'y'].map((tag) => mail.job({}, { tags: [tag, 'both'], delay: '1h' })))
  const [x, y] = jobs.map(({ id }) => id) as [string, string]
  for (const { id } of jobs) await holdfast.cancel(id, who)
  const told = async (tags: string[]) => {
    const own = (await holdfast.events.page({ after, tags })).events.map(({ job }) => job)
    expect((await client.events.page({ after, tags })).events.map(({ job }) => job)).toEqual(own)
    return own
  }
  expect(await told(['both'])).toEqual([x, y])
  expect(await told(['both', 'y'])).toEqual([y])
  expect(await told(['x', 'y'])).toEqual([])
  for (const feed of [holdfast.events.follow({ after, tags: ['y'] }), client.events.follow({ after, tags: ['y'] })]) {
    for await (const { job } of feed) {
      expect(job).toBe(y)
      break
    }
  }
  await expect(holdfast.events.page({ tags: [] })).rejects.toMatchObject({ code: 'invalid_option', field: 'tags' })
  await expect(client.events.page({ tags: [''] })).rejects.toMatchObject({ code: 'invalid_option' })
})

test('tags filter the list of executions, from the library and over HTTP', async () => {
  const { holdfast } = serving
  const order = defineWorkflow({ name: 'order', tasks: (task) => task('pack', { run: () => 'packed' }) })
  const ids: string[] = []
  for (const tag of ['x', 'y']) ids.push((await holdfast.start(order, {}, { tags: [tag, 'both'] })).id)
  await holdfast.start(order, {})
  const client = new HoldfastClient({ url: serving.address, key: adminKey })
  const listed = async (tags: string[]) => {
    const own = (await holdfast.executions.list({ tags })).executions.map(({ id }) => id)
    expect((await client.executions.list({ tags })).executions.map(({ id }) => id)).toEqual(own)
    return own
  }
  expect(await listed(['both'])).toEqual([ids[1], ids[0]])
  expect(await listed(['both', 'x'])).toEqual([ids[0]])
  expect(await listed(['x', 'y'])).toEqual([])
  await expect(holdfast.executions.list({ tags: [] })).rejects.toMatchObject({ code: 'invalid_option', field: 'tags' })
})

test('a rare tag is found by its index among many executions, and a frequent one by reading the newest', async () => {
  const { sql } = await makeQueue()
  await sql(`
    insert into holdfast.executions (id, workflow, version, stops, created_at, tags, input)
    select (lpad(to_hex(n), 12, '0') || '70008000000000000000')::uuid, 'order', 1, true, now(),
           case when n % 5000 = 7 then '{rare,all}' else '{all}' end::text[], '{}'
    from generate_series(1, 20000) as n`)
  await sql('vacuum analyze holdfast.executions')
  const planOf = async (tag: string) => {
    const rows = await sql(`explain ${statement('listExecutions').text}`, [null, null, null, null, 20, null, null, [tag]])
    return rows.map((row) => Object.values(row)[0]).join('\n')
  }
  expect(await planOf('rare')).toContain('executions_by_tag')
  expect(await planOf('all')).toContain('Index Scan Backward using executions_pkey')
})

test('tags go over HTTP, where a list is filtered by them', async () => {
  await serving.holdfast.registerTypes([mail])
  const client = new HoldfastClient({ url: serving.address, key: adminKey })
  const { id } = await client.enqueue(mail, {}, { tags: ['spring', 'vip'] })
  await client.enqueue(mail, {}, { tags: ['autumn'] })
  expect(await client.job(id)).toMatchObject({ tags: ['spring', 'vip'] })
  expect((await client.jobs({ tags: ['vip'] })).jobs.map((job) => job.id)).toEqual([id])
  expect((await client.jobs({ tags: ['vip', 'spring'] })).jobs.map((job) => job.id)).toEqual([id])
  expect((await client.jobs({ tags: ['vip', 'autumn'] })).jobs).toEqual([])
  await expect(client.enqueue(mail, {}, { tags: [''] })).rejects.toMatchObject({ code: 'invalid_option' })
})
