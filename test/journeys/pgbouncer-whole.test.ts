import { defineSchedule, defineType, defineWorkflow, Holdfast } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { createServer } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { startPgBouncer } from '../support/pgbouncer.js'
import { whenInstalled } from '../support/programs.js'
import { adminKey } from '../support/serving.js'
import { quiet } from '../support/small-worker.js'

const stepped = defineType({
  type: 'stepped',
  async run({ n }: { n: number }, ctx) {
    const one = await ctx.step('one', () => n + 1)
    await ctx.sleep('10ms')
    const word = await ctx.waitFor('go', { timeout: '1h' })
    return { one, word }
  },
})
const limited = defineType({ type: 'limited', limits: { maxRunning: 1 }, run: (_, { log }) => log('here') })
const tick = defineType({ type: 'tick', run: () => {} })
const far = defineType({ type: 'far', run: () => 'from afar' })
const sum = defineWorkflow({
  name: 'sum',
  tasks(task) {
    const first = task('first', { run: (input) => (input as { n: number }).n + 1 })
    return task('second', { after: [first], run: async (_, { parents }) => (await parents()).first * 2 })
  },
})

whenInstalled(
  'pgbouncer',
  'behind PgBouncer in transaction mode, with polling alone: steps, waits, schedules, workflows, batches, limits, upkeep, server and remote worker',
  async (program) => {
    const database = await makeObservedDatabase()
    const connectionString = await startPgBouncer(program, database.url, 4)
    const holdfast = new Holdfast({ connectionString, preparedStatements: false })
    const schedules = [defineSchedule({ name: 'each-second', type: tick, every: '1s', payload: {} })]
    const worker = await startWorker(holdfast, [stepped, limited, tick, sum], {
      logger: quiet,
      listen: false,
      drain: 0,
      schedules,
    })
    await holdfast.registerTypes([far])
    const server = createServer(holdfast, { adminKey, logger: quiet })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    const remote = await startRemoteWorker({ url, key: adminKey }, [far], { logger: quiet })
    onTestFinished(async () => {
      await remote.stop({ now: true })
      await server.close()
      await worker.stop()
      await holdfast.close()
    })
    const client = new HoldfastClient({ url, key: adminKey })

    const job = await holdfast.enqueue(stepped, { n: 1 })
    await eventually(async () => (await holdfast.job(job.id))?.status === 'blocked')
    await holdfast.signal(job.id, 'go', 'now')
    expect(await holdfast.wait(job, { timeout: '20s' })).toEqual({ one: 2, word: 'now' })

    const execution = await holdfast.start(sum, { n: 3 })
    expect(await holdfast.executions.wait(execution, { timeout: '20s' })).toBe(8)

    const jobs = Array.from({ length: 20 }, () => limited.job({}))
    const batch = await holdfast.batch({ name: 'all', jobs, onComplete: tick.job({}) })
    await eventually(async () => (await holdfast.batches.get(batch.id))?.status === 'succeeded')

    const away = await client.enqueue('far', {})
    expect(await client.wait(away.id, { timeout: '20s' })).toMatchObject({ status: 'completed', result: 'from afar' })
    const [one] = (await client.jobs({ type: 'limited', status: 'completed' })).jobs
    expect(await holdfast.log(one?.id as string)).toMatchObject([{ line: 'here' }])

    // Two of the schedule's own, beside that of the batch.
    await eventually(async () => (await holdfast.jobs({ type: 'tick', status: 'completed' })).jobs.length >= 3)
    // Whose upkeep looked: the worker's partitions stand, and nothing it did failed.
    await eventually(async () => (await holdfast.doctor()).findings.every(({ code }) => code !== 'partitions_missing'))
    expect(worker.health().status).toBe('ok')
    expect((worker.health().warnings ?? []).filter((warning) => warning.includes('failed'))).toEqual([])
    expect(await holdfast.cancel((await holdfast.enqueue(limited, {}, { delay: '1h' })).id, { by: 'ada' })).toBeTruthy()
  },
  90_000,
)
