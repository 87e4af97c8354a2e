import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defineType, Holdfast, JobEndedError } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startPgBouncer } from '../support/pgbouncer.js'
import { whenInstalled } from '../support/programs.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { sized } from '../support/sized.js'
import { repository } from '../support/source.js'
import { startHere } from '../support/worker-here.js'

const answer = defineType({
  type: 'answer',
  maxAttempts: 1,
  limits: { breaker: false },
  run({ value, fail }: { value?: unknown; fail?: string }) {
    if (fail !== undefined) throw new Error(fail)
    return value as { n: number } | undefined
  },
})
const long = { timeout: '60s' }
const who = { by: 'ada', why: 'not needed' }
const listeners = (queue: Queue) =>
  queue.sql(`select pid from pg_stat_activity where datname = current_database() and application_name = 'holdfast listener'`)
const registered = (queue: Queue) => queue.sql('select job_id from holdfast.waiters')

test('wait resolves with what the handler returned, whether the job ends later or has ended before', async () => {
  const queue = await makeQueue()
  const job = await queue.holdfast.enqueue(answer, { value: { n: 7 } })
  const waiting = queue.holdfast.wait(job, long)
  await startHere(queue, [answer])
  expect(await waiting).toEqual({ n: 7 })
  expect(await queue.holdfast.wait(job.id.toUpperCase())).toEqual({ n: 7 })
  expect(await queue.holdfast.wait(job.id, { type: answer })).toEqual({ n: 7 })
  expect(await queue.holdfast.wait(await queue.holdfast.enqueue(answer, {}), long)).toBeUndefined()
  expect(await queue.holdfast.wait(await queue.holdfast.enqueue(answer, { value: null }), long)).toBeNull()
})

test('wait throws what the job ended of: its last error, who cancelled or discarded it, an id nobody knows', async () => {
  const queue = await makeQueue()
  await startHere(queue, [answer])
  const { id } = await queue.holdfast.enqueue(answer, { fail: 'no paper' })
  const died: JobEndedError = await queue.holdfast.wait<never>(id, long).catch((error) => error)
  expect(died).toBeInstanceOf(JobEndedError)
  expect(died).toMatchObject({
    code: 'job_dead',
    jobId: id,
    reason: 'exhausted',
    lastError: { name: 'Error', message: 'no paper' },
  })
  expect(died.message).toBe(`job ${id} (answer) ended dead (exhausted) at attempt 1: Error: no paper`)
  await queue.holdfast.deadLetters.discard(id, who)
  await expect(queue.holdfast.wait(id)).rejects.toMatchObject({
    code: 'job_discarded',
    lastError: { message: expect.stringMatching(/ada: not needed/) },
  })

  const later = await queue.holdfast.enqueue(answer, {}, { delay: '1h' })
  const waiting = queue.holdfast.wait(later, long)
  await eventually(async () => (await registered(queue)).length === 1)
  await Promise.all([
    expect(waiting).rejects.toMatchObject({ code: 'job_cancelled', jobId: later.id, reason: null }),
    queue.holdfast.cancel(later.id, who),
  ])
  const asked = await queue.holdfast.enqueue(answer, {}, { approval: true })
  const rejected = queue.holdfast.wait(asked, long)
  await Promise.all([expect(rejected).rejects.toMatchObject({ code: 'job_cancelled' }), queue.holdfast.reject(asked.id, who)])
  const unknown = '0190aaaa-0000-7000-8000-000000000000'
  await expect(queue.holdfast.wait(unknown)).rejects.toMatchObject({ code: 'not_found' })
  await expect(queue.holdfast.wait('seven')).rejects.toMatchObject({ code: 'invalid_option', field: 'id' })
  const other = defineType({ type: 'other' })
  await expect(queue.holdfast.wait(id, { type: other })).rejects.toMatchObject({ code: 'invalid_option', field: 'type' })
})

test('a wait that is over says so with a code of its own and leaves nothing behind; the job goes on', async () => {
  const queue = await makeQueue()
  const job = await queue.holdfast.enqueue(answer, { value: { n: 1 } })
  await expect(queue.holdfast.wait(job, { timeout: '30ms' })).rejects.toMatchObject({ code: 'wait_timeout', retryable: true })
  const signal = AbortSignal.timeout(50)
  await expect(queue.holdfast.wait(job, { ...long, signal })).rejects.toMatchObject({ name: 'TimeoutError' })
  const waiting = queue.holdfast.wait(job, long)
  await eventually(async () => (await registered(queue)).length === 1)
  await Promise.all([
    expect(waiting).rejects.toMatchObject({ code: 'wait_timeout', message: expect.stringMatching(/closed/) }),
    queue.holdfast.close(),
  ])
  expect(await registered(queue)).toEqual([])
  expect(await listeners(queue)).toEqual([])
  expect(await queue.sql('select from holdfast.queue')).toHaveLength(1)
})

const many = sized({ sample: 2_000, whole: 10_000 })

test(`${many} waits in one process share one listening connection and one more`, async () => {
  const queue = await makeQueue()
  const holdfast = new Holdfast({ connectionString: queue.url })
  onTestFinished(() => holdfast.close())
  const jobs = await holdfast.enqueueMany(Array.from({ length: many }, (_, n) => answer.job({ value: { n } })))
  const waits = Promise.all(jobs.map((job) => holdfast.wait(job, { timeout: '5m' })))
  await eventually(async () => (await registered(queue)).length === many)
  expect(await listeners(queue)).toHaveLength(1)
  const others = await queue.sql(`select from pg_stat_activity
    where datname = current_database() and application_name like 'holdfast%' and application_name <> 'holdfast listener'`)
  expect(others.length).toBeLessThanOrEqual(2)
  await startHere(queue, [answer], { concurrency: 100 })
  expect((await waits)[many - 1]).toEqual({ n: many - 1 })
  await eventually(async () => (await registered(queue)).length === 0)
}, 120_000)

test('a wait outlives its listener: one that is cut is made again, and the job is heard of all the same', async () => {
  const queue = await makeQueue()
  const jobs = await queue.holdfast.enqueueMany([
    answer.job({ value: { n: 1 } }),
    answer.job({ value: { n: 2 } }, { delay: '1h' }),
  ])
  const [first, second] = jobs.map((job) => queue.holdfast.wait(job, long))
  const [before] = await eventually(async () => {
    const rows = await listeners(queue)
    return rows.length === 1 && (await registered(queue)).length === 2 && rows
  })
  await queue.sql('select pg_terminate_backend($1)', [before?.pid])
  await startHere(queue, [answer])
  expect(await first).toEqual({ n: 1 })
  await eventually(async () => (await listeners(queue)).some(({ pid }) => pid !== before?.pid))
  await queue.holdfast.runNow(jobs[1]?.id as string, who)
  expect(await second).toEqual({ n: 2 })
}, 60_000)

test('nobody who waits costs nothing: a settle looks once into an empty table and notifies nobody', async () => {
  const queue = await makeQueue()
  const client = await queue.connect()
  await client.query('listen "holdfast.ended"')
  const heard: string[] = []
  client.on('notification', ({ payload = '' }) => heard.push(payload))
  await startHere(queue, [answer])
  const alone = await queue.holdfast.enqueue(answer, {})
  await eventually(async () => (await queue.holdfast.job(alone.id))?.status === 'completed')
  await client.query('select 1')
  expect(heard).toEqual([])
})

whenInstalled(
  'pgbouncer',
  'behind a pooler in transaction mode, where no notification arrives, a wait polls',
  async (program) => {
    const queue = await makeQueue()
    const url = await startPgBouncer(program, queue.url, 4)
    const holdfast = new Holdfast({ connectionString: url, preparedStatements: false })
    onTestFinished(() => holdfast.close())
    const job = await holdfast.enqueue(answer, { value: { n: 3 } })
    const waiting = holdfast.wait(job, long)
    await startHere(queue, [answer])
    expect(await waiting).toEqual({ n: 3 })
  },
  60_000,
)

test('a process that has only waited ends by itself', async () => {
  const queue = await makeQueue()
  await startHere(queue, [answer])
  const { id } = await queue.holdfast.enqueue(answer, { value: { n: 4 } })
  const program = `import { Holdfast } from 'holdfast'
    const holdfast = new Holdfast({ connectionString: ${JSON.stringify(queue.url)} })
    console.log(JSON.stringify(await holdfast.wait('${id}')))
    await holdfast.close()`
  const run = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd: repository })
  expect(run.stdout).toBe('{"n":4}\n')
})
