import { defineType } from 'holdfast'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
let serving: Serving
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([defineType({ type: 'greet' })])
})
afterAll(() => serving.end())

/** Nobody can read that table until the test has ended. */
async function lock(table: string): Promise<void> {
  await serving.sql.query(`begin; lock table holdfast.${table} in access exclusive mode`)
  onTestFinished(async () => void (await serving.sql.query('rollback')))
}

test('while every connection of the readers is held, jobs are enqueued, claimed and settled', async () => {
  await serving.comeBack({ reading: { within: '25s' } })
  onTestFinished(() => serving.comeBack())
  const { id } = await serving.holdfast.enqueue('greet', {}, { delay: '1h' })
  const ask = async (path: string, body: object) => (await serving.call('POST', path, body)).json()
  const { worker } = await ask('/worker/register', { name: 'w', types: ['greet'] })
  await lock('moves')
  // As many as hang on the lock at once, and more behind them.
  const held = Array.from({ length: 6 }, () => serving.ask(`/jobs/${id}`))
  const stuck = async () => {
    const waiting = `select from pg_locks where relation = 'holdfast.moves'::regclass and not granted`
    return (await serving.sql.query(waiting)).rowCount ?? 0
  }
  await eventually(async () => (await stuck()) >= 4)
  const made = await ask('/jobs', { type: 'greet', payload: {} })
  expect(made).toMatchObject({ status: 'created' })
  const [job] = (await ask('/worker/claim', { worker, wait: '10s' })).jobs
  expect(job.id).toBe(made.id)
  const { results } = await ask('/worker/settle', { worker, results: [{ job: job.id, lease: job.lease, result: 'complete' }] })
  expect(results).toMatchObject([{ job: job.id, settled: true }])
  // They still stand there, and it is not they who made room.
  expect(await stuck()).toBeGreaterThanOrEqual(4)
  await serving.sql.query('rollback')
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual(Array(6).fill(200))
})

test('a search reads so many bytes a page and goes on from there, and finds what there is in the end', async () => {
  const padding = 'x'.repeat(60_000)
  const requests = Array.from({ length: 100 }, (_, n) => ({ type: 'greet', payload: { padding, n }, delay: '1h' }))
  await serving.holdfast.enqueueMany(requests, { owner: 'large' })
  const { key } = await serving.holdfast.access.createKey({ service: 'large', roles: ['producer'] }, who)
  const found: number[] = []
  let pages = 0
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const search = `/jobs?payload=${encodeURIComponent('{"n":0}')}${cursor && `&cursor=${cursor}`}`
    const page = await serving.call('GET', search, undefined, key)
    // What it costs is told by the rate limit; then one waits.
    if (page.status === 429) continue
    const { jobs, next } = (await page.json()) as { jobs: { payload: { n: number } }[]; next: string | null }
    found.push(...jobs.map(({ payload }) => payload.n))
    cursor = next
  }
  expect(found).toEqual([0])
  expect(pages).toBeGreaterThanOrEqual(3)
  // And a page of large jobs is cut to what can be answered with at once.
  const list = await (await serving.ask('/jobs?owner=large&limit=100')).text()
  expect(list.length).toBeLessThan(3_000_000)
  expect(JSON.parse(list).next).not.toBeNull()
})

test('a list costs its service requests for the time it took the database, and nobody else', async () => {
  const make = async (service: string) =>
    (await serving.holdfast.access.createKey({ service, roles: ['producer'], rateLimit: 50 }, who)).key
  const [dear, other] = [await make('dear'), await make('other')]
  await lock('bodies')
  const list = await serving.call('GET', '/jobs?type=greet', undefined, dear)
  expect(list.status).toBe(422)
  expect(await list.json()).toMatchObject({ code: 'question_too_slow', detail: expect.stringContaining('ask for less') })
  const next = await serving.call('GET', '/session', undefined, dear)
  expect(next.status).toBe(429)
  expect(Number(next.headers.get('retry-after'))).toBeGreaterThanOrEqual(2)
  expect((await serving.call('GET', '/session', undefined, other)).status).toBe(200)
})
