import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type AnyWorkflow, defineType, defineWorkflow, Holdfast } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { repository } from '../support/source.js'
import { startHere } from '../support/worker-here.js'

const keys = { old: randomBytes(32).toString('base64'), new: randomBytes(32).toString('base64') }

function as(queue: Queue, encryption: { keys: Record<string, string>; current: string }): Queue {
  const holdfast = new Holdfast({ connectionString: queue.url, encryption })
  onTestFinished(() => holdfast.close())
  return { ...queue, holdfast }
}
const keysInUse = async (queue: Queue) =>
  Object.fromEntries(
    (
      await queue.sql(
        `select coalesce(payload -> '$enc' ->> 'k', 'none') as k, count(*)::int as n from holdfast.bodies group by 1`,
      )
    ).map(({ k, n }) => [k, n]),
  )

test('everything is encrypted with the new key while a worker runs, dead letters and plain jobs from before included', async () => {
  const queue = await makeQueue()
  const seen = new Set<number>()
  const define = (encrypt: boolean) =>
    defineType({
      type: 'charge',
      encrypt,
      maxAttempts: 1,
      limits: { breaker: false },
      run: ({ n }: { n: number }) => {
        if (n === 0 && !seen.has(0)) {
          seen.add(0)
          throw new Error('no')
        }
        seen.add(n)
      },
    })
  const old = as(queue, { keys: { old: keys.old }, current: 'old' })
  const { id: dead } = await old.holdfast.enqueue(define(true), { n: 0 })
  const first = await startHere(old, [define(true)])
  await eventually(async () => (await old.holdfast.job(dead))?.status === 'dead')
  await first.stop()
  await old.holdfast.enqueueMany(
    Array.from({ length: 250 }, (_, n) => define(true).job({ n: n + 1 }, { delay: n < 100 ? 0 : '1h' })),
  )
  // From the time before the type was encrypted.
  await queue.sql('update holdfast.types set encrypted = false')
  await queue.holdfast.enqueueMany(
    Array.from({ length: 10 }, (_, n) => ({ type: 'charge', payload: { n: n + 1_000 }, delay: '1h' })),
  )
  await queue.sql('update holdfast.types set encrypted = true')
  expect(await keysInUse(queue)).toEqual({ none: 10, old: 251 })

  const both = as(queue, { keys, current: 'new' })
  await startHere(both, [define(true)], { concurrency: 2 })
  const told: number[] = []
  const done = await both.holdfast.reencrypt({ atOnce: 20, onProgress: ({ encrypted }) => told.push(encrypted) })
  expect(done).toEqual({ key: 'new', looked: 261, encrypted: 261, unreadable: {} })
  expect(told.length).toBeGreaterThan(10)
  expect(await keysInUse(queue)).toEqual({ new: 261 })
  expect((await both.holdfast.reencrypt()).encrypted).toBe(0)

  // All of it can be read with the new key alone.
  const only = as(queue, { keys: { new: keys.new }, current: 'new' })
  await startHere(only, [define(true)])
  await only.holdfast.deadLetters.replay(dead, { by: 'ada' })
  await only.holdfast.runNowMany({ type: 'charge' }, { by: 'ada' })
  await eventually(async () => (await queue.sql(`select from holdfast.jobs where status = 'completed'`)).length === 261)
  expect(seen.size).toBe(261)
})

test('the command line does it, and fails where something is left that it cannot read', async () => {
  const queue = await makeQueue()
  const type = defineType({ type: 'charge', encrypt: true })
  await as(queue, { keys: { old: keys.old }, current: 'old' }).holdfast.enqueue(type, { n: 1 })
  const run = (environment: object) =>
    promisify(execFile)(process.execPath, [join(repository, 'dist/cli/main.js'), 'reencrypt', '--json'], {
      env: { ...process.env, DATABASE_URL: queue.url, ...environment },
      timeout: 60_000,
    })
  const failed = await run({ HOLDFAST_ENCRYPTION_KEYS: `new:${keys.new}` }).catch((error) => error)
  expect(failed.code).toBe(1)
  expect(JSON.parse(failed.stdout)).toMatchObject({
    encrypted: 0,
    unreadable: { 'the payload is encrypted with the key "old", which this process does not have': 1 },
  })
  const both = `old:${keys.old}, new:${keys.new}`
  const { stdout } = await run({ HOLDFAST_ENCRYPTION_KEYS: both, HOLDFAST_ENCRYPTION_CURRENT: 'new' })
  expect(JSON.parse(stdout)).toMatchObject({ key: 'new', encrypted: 1, unreadable: {} })
  expect(await keysInUse(queue)).toEqual({ new: 1 })
})

test('an execution that waits goes on with the new key alone: its input, and the payloads and results of its tasks', async () => {
  const queue = await makeQueue()
  const encrypt = true
  const order = defineWorkflow({
    name: 'order',
    tasks(task) {
      const charge = task('charge', { encrypt, run: async (input) => ({ paid: input }) })
      return task('ship', {
        ...{ after: [charge], encrypt, delay: '1h' },
        run: async (input, { parents, execution }) => [input, (await parents()).charge, (await execution()).input],
      })
    },
  })
  const old = as(queue, { keys: { old: keys.old }, current: 'old' })
  const worker = await startHere(old, order.types)
  const { id } = await old.holdfast.start(order, 'thirty')
  const shipping = await eventually(async () => {
    const [ship] = (await old.holdfast.executions.tasks(id)).tasks.filter(({ name }) => name === 'ship')
    return ship?.status === 'started' && ship.jobId
  })
  await worker.stop()
  const both = as(queue, { keys, current: 'new' })
  // The input, the payload of both tasks and of both jobs, the result of the one that ran, and that of its job.
  expect(await both.holdfast.reencrypt({ atOnce: 1 })).toMatchObject({ encrypted: 7, unreadable: {} })
  expect(await both.holdfast.reencrypt()).toMatchObject({ encrypted: 0 })

  const fresh = as(queue, { keys: { new: keys.new }, current: 'new' })
  await startHere(fresh, order.types)
  await fresh.holdfast.runNow(shipping as string, { by: 'ada' })
  expect(await fresh.holdfast.executions.wait(id)).toEqual(['thirty', { paid: 'thirty' }, 'thirty'])
})

/** Keeps the types of a workflow, and starts it from the time before any of them was encrypted. */
async function startedInPlain(queue: Queue, workflow: AnyWorkflow, input: unknown): Promise<string> {
  await queue.holdfast.executions.register(workflow)
  await queue.sql('update holdfast.types set encrypted = false')
  return (await queue.holdfast.start(workflow.name, input)).id
}
const isPlain = async (queue: Queue, id: string) =>
  (await queue.sql(`select input::text not like '{"$enc"%' as plain from holdfast.executions where id = $1`, [id]))[0]?.plain

test('a plain input is encrypted, and tasks that have yet to start have their payloads all the same', async () => {
  const queue = await makeQueue()
  const encrypt = true
  const order = defineWorkflow({
    name: 'order',
    tasks(task) {
      const charge = task('charge', { encrypt, run: async (input) => ({ paid: input }) })
      const weigh = task('weigh', { after: [charge], run: async (input) => ({ weighed: input }) })
      return task('ship', {
        ...{ after: [weigh], encrypt },
        run: async (input, { parents, execution }) => [input, (await parents()).weigh, (await execution()).input],
      })
    },
  })
  const id = await startedInPlain(queue, order, 'thirty')
  await queue.sql(`update holdfast.types set encrypted = true where name in ('order.charge', 'order.ship')`)
  const both = as(queue, { keys, current: 'new' })
  // The job of the task that has started, the payload of the encrypted one that has not, and the input.
  expect(await both.holdfast.reencrypt({ atOnce: 1 })).toMatchObject({ encrypted: 3, unreadable: {} })
  expect(await isPlain(queue, id)).toBe(false)
  expect(await both.holdfast.reencrypt()).toMatchObject({ encrypted: 0, unreadable: {} })
  await startHere(both, order.types)
  expect(await both.holdfast.executions.wait(id, { timeout: '30s' })).toEqual(['thirty', { weighed: 'thirty' }, 'thirty'])
})

test('a plain input that a condition has yet to read is encrypted when its execution has completed', async () => {
  const queue = await makeQueue()
  const order = defineWorkflow({
    name: 'order',
    tasks(task) {
      const charge = task('charge', { run: async () => 'charged' })
      return task('thank', { after: [charge], if: '$.input.total > 10', run: async () => 'thanked' })
    },
  })
  const id = await startedInPlain(queue, order, { total: 30 })
  await queue.sql('update holdfast.types set encrypted = true')
  const both = as(queue, { keys, current: 'new' })
  // The job of the task that has started, and the payload of the other.
  expect(await both.holdfast.reencrypt()).toMatchObject({ encrypted: 2, unreadable: {} })
  expect(await isPlain(queue, id)).toBe(true)
  await startHere(both, order.types)
  expect(await both.holdfast.executions.wait(id, { timeout: '30s' })).toBe('thanked')
  await queue.sql('update holdfast.types set encrypted = true')
  await both.holdfast.reencrypt()
  expect(await isPlain(queue, id)).toBe(false)
})
