import { randomUUID } from 'node:crypto'
import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { rules } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { attempts, type Things } from '../support/other-service.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const kinds: Record<string, string[]> = { producer: ['jobs:enqueue', 'jobs:read', 'jobs:cancel'], worker: ['jobs:work'] }

let serving: Serving
/** Of service A: one of each status. */
let theirs: Things[]
let nothing: Things
const keys: Record<string, string> = {}
/** The token of B's own worker. */
let own: string

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
const post = async (path: string, body: object, key: string): Promise<any> => {
  const response = await serving.call('POST', path, body, key)
  const answer = await response.json()
  expect(response.status, JSON.stringify(answer)).toBeLessThan(300)
  return answer
}

beforeAll(async () => {
  serving = await serve()
  await serving.sql.query('set plan_cache_mode = force_generic_plan')
  const { holdfast } = serving
  await holdfast.events.page()
  const makeKey = (service: string, role: string, types: string[]) =>
    holdfast.access.createKey({ service, roles: [role], types, rateLimit: 10_000 }, who)
  const run = async ({ dies }: { dies?: boolean }) => {
    if (dies) throw new FatalError('for good')
  }
  const ledger = defineType({ type: 'ledger', run })
  await holdfast.registerTypes([
    ledger,
    defineType({ type: 'greet' }),
    defineType({ type: 'mail' }),
    defineType({ type: 'idle' }),
  ])
  const producer = await makeKey('accounts', 'producer', ['ledger', 'mail'])
  const enqueue = async (body: object): Promise<string> => (await post('/jobs', body, producer.key)).id
  const marker = 'of-accounts-alone'
  const dead = await enqueue({ type: 'ledger', payload: { marker, dies: true } })
  const completed = await enqueue({ type: 'ledger', payload: { marker } })
  const worker = await startWorker(holdfast, [ledger], { logger: quiet })
  const statusOf = async (id: string) => (await holdfast.job(id))?.status
  await eventually(async () => (await statusOf(dead)) === 'dead' && (await statusOf(completed)) === 'completed')
  await worker.stop()
  const running = await enqueue({ type: 'ledger', payload: { marker } })
  const { key } = await makeKey('accounts', 'worker', ['ledger'])
  const registered = await post('/worker/register', { name: 'a', types: ['ledger'] }, key)
  const [{ lease }] = (await post('/worker/claim', { worker: registered.worker, lease: '1h' }, key)).jobs
  const cancelled = await enqueue({ type: 'ledger', payload: { marker }, delay: '1h' })
  await serving.call('DELETE', `/jobs/${cancelled}`, undefined, producer.key)
  const waiting = await enqueue({ type: 'mail', payload: { marker }, delay: '1h', idempotency_key: 'invoice-one' })
  await enqueue({ type: 'mail', payload: { marker }, delay: '1h', idempotency_key: 'invoice-many' })
  const batchOf = async (...jobs: object[]): Promise<string> => (await post('/batches', { jobs, open: true }, producer.key)).id
  const batch = await batchOf({ type: 'mail', payload: { marker }, delay: '1h', idempotency_key: 'invoice-batch' })
  for (const key of ['one', 'many', 'batch'].flatMap((place) => [0, 1, 2, 3].map((n) => `march-${place}-${n}`))) {
    await enqueue({ type: 'mail', payload: { marker }, delay: '1h', unique: { key, on_conflict: 'reject' } })
  }
  const books = defineWorkflow({ name: 'books', tasks: (task) => task('book', { type: 'ledger', delay: '1h' }) })
  await holdfast.executions.register(books)
  const execution = (await post('/executions', { workflow: 'books', input: { marker } }, producer.key)).id
  const unapproved = await enqueue({ type: 'ledger', payload: { marker }, approval: true })
  const things = {
    ...{ service: 'accounts', type: 'ledger', shared: 'mail', marker, key: String(producer.id), lease, token: registered.worker },
    ...{ batch, execution, workflow: 'books', worker: String(registered.id), idempotencyKey: 'invoice', uniqueKey: 'march' },
  }
  theirs = [running, waiting, unapproved, completed, dead, cancelled].map((job) => ({ ...things, job }))
  nothing = {
    ...{ service: 'no-such-service', type: 'idle', shared: 'mail', marker: 'in-no-payload', key: '99999', worker: '99999' },
    ...{
      token: `99999.${'y'.repeat(43)}`,
      lease: '99999',
      idempotencyKey: 'receipt',
      uniqueKey: 'april',
      job: notYet(running),
      batch: notYet(batch),
      execution: notYet(execution),
      workflow: 'novels',
    },
  }
  // What any worker's next look would add up is added up, so that it is not taken for something that was done to it.
  await serving.sql.query('select holdfast.advance_groups(holdfast.groups_to_advance())')
  keys.producer = (await makeKey('greetings', 'producer', ['greet', 'mail'])).key
  keys.worker = (await makeKey('greetings', 'worker', ['greet'])).key
  own = (await post('/worker/register', { name: 'b', types: ['greet'] }, keys.worker)).worker
})
afterAll(() => serving.end())

/** An id made at the same time, which no job has. */
const notYet = (id: string) => id.slice(0, 15) + randomUUID().slice(15)

/**
 * All that is stored about A's jobs, leases, workers and keys, in whatever table. One statement that is planned once, because it runs
 * hundreds of times and planning it takes a tenth of a second.
 */
async function stored(): Promise<object[]> {
  looking ??= await lookEverywhere()
  return (await serving.sql.query({ name: 'everything', text: looking, values: [theirs[0]?.worker] })).rows
}
let looking: string | undefined

async function lookEverywhere(): Promise<string> {
  // A partition is looked through with its table. What failed is added up by a worker whenever its time comes.
  const { rows: columns } = await serving.sql.query(
    `select t.relname as table, c.attname as column from pg_class as t join pg_attribute as c on c.attrelid = t.oid
     where t.relnamespace = 'holdfast'::regnamespace and t.relkind in ('r', 'p') and not t.relispartition
       and c.atttypid = 'uuid'::regtype and c.attnum > 0 and not c.attisdropped
       and t.relname not in ('error_counts', 'error_groups') order by 1, 2`,
  )
  const look = (name: string, where: string) => `select '${name}' as name, to_jsonb(t)::text as row from holdfast.${where}`
  const all = [
    ...columns.map(({ table, column }) => look(`${table}.${column}`, `${table} as t where t.${column} in (table its)`)),
    look('leases', 'leases as t where t.worker_id = $1'),
    look('workers', 'workers as t where t.id = $1'),
    look('types', `types as t where t.name = 'ledger'`),
  ]
  return `with its as materialized (
    select id from holdfast.bodies where owner = 'accounts' union all select id from holdfast.batches where owner = 'accounts'
    union all select id from holdfast.executions where owner = 'accounts') ${all.join(' union all ')} order by 1, 2`
}

/** Without what names the one or the other. */
function plain(text: string, { service, type, job, batch, execution, workflow, lease }: Things): string {
  const names = [`"${lease}"`, service, type, job, batch, execution, workflow].reduce(
    (left, name) => left.replaceAll(name, '…'),
    text,
  )
  return names.replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '…')
}

describe.each(Object.keys(kinds))('a service with the key of a %s finds nothing of another’s', (kind) => {
  const isIn = (rule: string) => rule === 'open' || rule === 'any key' || kinds[kind]?.includes(rule)

  test.each(Object.entries(rules))('%s', async (route, rule) => {
    const [method, address] = route.split(' ') as [string, string]
    const tries = attempts[route]
    if (isIn(rule) && !tries) throw new Error(`test/support/other-service.ts does not say what one service tries at ${route}`)
    const filled = (its: Things) => {
      const id = address.includes('/keys/') ? its.key : address.includes('/remote/') ? its.worker : its.job
      return [{ path: address.replace(':id', id).replace(':type', its.type).replace(':name', its.service) }]
    }
    const requests = (its: Things) => (tries ? tries(its, own) : filled(its))
    const ask = async (its: Things, place: number) => {
      const { path, body } = requests(its)[place] as { path: string; body?: object }
      // Lists are paid for by the time they took; who has nothing left comes back.
      const response = await eventually(async () => {
        const answered = await serving.call(method, path, body, keys[kind])
        return answered.status !== 429 && answered
      })
      return { status: response.status, text: plain(await response.text(), its), asked: `${path} ${JSON.stringify(body)}` }
    }
    const before = await stored()
    for (const [place] of requests(nothing).entries()) {
      const expected = await ask(nothing, place)
      if (!isIn(rule)) expect(expected.status).toBe(403)
      // What names no job is the same for all of them, and is asked once: what it is answered with may be the caller's own from then on.
      const different = new Map(theirs.map((its) => [JSON.stringify(requests(its)[place]), its]))
      for (const its of different.values()) {
        const { asked, ...answer } = await ask(its, place)
        expect.soft(answer, asked).toEqual({ status: expected.status, text: expected.text })
        expect.soft(answer.text).not.toContain(its.marker)
      }
    }
    expect(await stored()).toEqual(before)
  })
})

test('every route that one service tries at another’s is there', () => {
  expect(Object.keys(attempts).filter((route) => !(route in rules))).toEqual([])
})

test('the id of another’s job is taken, and that is all that is said about it', async () => {
  const before = await stored()
  const answers = theirs.map(async ({ job }) => {
    const response = await serving.call('POST', '/jobs', { type: 'mail', payload: {}, id: job }, keys.producer)
    return { status: response.status, text: (await response.text()).replaceAll(job, '…') }
  })
  const [first, ...others] = await Promise.all(answers)
  expect(first).toMatchObject({ status: 409, text: expect.stringContaining('id … belongs to another job: it is not yours') })
  for (const other of others) expect(other).toEqual(first)
  expect(await stored()).toEqual(before)
})
