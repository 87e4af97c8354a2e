import { defineType, defineWorkflow, FatalError, type RunContext } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const ada = { by: 'ada', why: 'a mistake' }
const grace = { by: 'grace', why: 'it was none' }

async function isNow(queue: Queue, id: string, status: string): Promise<void> {
  await eventually(async () => (await queue.holdfast.job(id))?.status === status, { within: 60_000 })
}

/** A job that waits for its time, cancelled. */
async function cancelled(queue: Queue, options: object = {}): Promise<string> {
  const { id } = await queue.holdfast.enqueue(defineType({ type: 'plain', run() {} }), {}, options)
  await queue.holdfast.cancel(id, ada)
  return id
}

/** How often the view shows a job, and as what. */
async function shown(queue: Queue, id: string): Promise<string[]> {
  return (await queue.sql('select status from holdfast.jobs where id = $1', [id])).map(({ status }) => status)
}

describe('a cancelled job that is resumed', () => {
  test('goes on behind its steps and from its checkpoint once its handler has stopped, and its story names both people', async () => {
    const queue = await makeQueue()
    let stop = () => {}
    const stopped = new Promise<void>((resolve) => {
      stop = resolve
    })
    const ran: string[] = []
    const type = defineType({
      type: 'long',
      async run(_, ctx: RunContext) {
        const saved = await ctx.lastCheckpoint()
        ran.push(`from ${saved ?? 'the beginning'}`)
        const one = await ctx.step('one', () => ran.push('one'))
        if (saved === undefined) {
          await ctx.checkpoint(7)
          ran.push('saved')
          await stopped
        }
        return one
      },
    })
    await startHere(queue, [type])
    const { id } = await queue.holdfast.enqueue(type, {})
    await eventually(() => ran.includes('saved'))
    await queue.holdfast.cancel(id, ada)
    expect(await queue.holdfast.resume(id, grace)).toEqual({
      ...{ id, done: false, was: 'cancelled', status: 'cancelled' },
      because: 'its handler may still be at work; try again when it has stopped',
    })
    stop()
    const moved = await eventually(async () => {
      const answer = await queue.holdfast.resume(id, grace)
      return answer.done && answer
    })
    expect(moved).toEqual({ id, done: true, was: 'cancelled', status: 'pending' })
    expect(await queue.holdfast.wait(id)).toBe(2)
    expect(ran).toEqual(['from the beginning', 'one', 'saved', 'from 7'])
    const story = await queue.holdfast.job(id)
    expect(story?.attempts).toMatchObject([
      { attempt: 1, outcome: 'handed_back', error: { name: 'Cancelled', by: 'ada' }, startedAt: expect.any(Date) },
      { attempt: 1, outcome: 'completed' },
    ])
    expect(story?.changes).toMatchObject([
      {
        move: 'resume',
        by: 'grace',
        why: 'it was none',
        before: { cancelled_by: 'ada', cancelled_why: 'a mistake', attempt: 1 },
      },
    ])
    expect(await shown(queue, id)).toEqual(['completed'])
    expect(await queue.sql('select cancelled, resumed, ended from holdfast.counters as c where c.completed = 1')).toEqual([
      { cancelled: '1', resumed: '1', ended: '1' },
    ])
  })

  test('waits again for the signal it waited for', async () => {
    const queue = await makeQueue()
    const type = defineType({ type: 'waits', run: (_, ctx: RunContext) => ctx.waitFor('go') })
    await startHere(queue, [type])
    const { id } = await queue.holdfast.enqueue(type, {})
    await isNow(queue, id, 'blocked')
    await queue.holdfast.cancel(id, ada)
    expect(await queue.holdfast.resume(id, grace)).toMatchObject({ done: true, status: 'pending' })
    await queue.holdfast.signal(id, 'go', 'at last')
    expect(await queue.holdfast.wait(id)).toBe('at last')
  })

  test('is due at the time it was enqueued for', async () => {
    const queue = await makeQueue()
    const id = await cancelled(queue, { delay: '1h' })
    expect(await queue.holdfast.resume(id, grace)).toMatchObject({ done: true, status: 'scheduled' })
    const story = await queue.holdfast.job(id)
    expect((story?.dueAt?.getTime() ?? 0) - (story?.createdAt.getTime() ?? 0)).toBe(3_600_000)
    expect(story?.attempts).toEqual([])
  })

  test('is resumed by one of many who do so at once, can be cancelled again, and resumed again', async () => {
    const queue = await makeQueue()
    const id = await cancelled(queue)
    for (const round of [1, 2]) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => queue.holdfast.resume(id, grace)))
      expect(answers.filter(({ done }) => done)).toHaveLength(1)
      expect(new Set(answers.map(({ because }) => because))).toEqual(
        new Set([undefined, 'it was already resumed by grace and is pending']),
      )
      expect(await shown(queue, id)).toEqual(['pending'])
      expect((await queue.holdfast.job(id))?.changes).toHaveLength(round)
      expect(await queue.holdfast.cancel(id, ada)).toMatchObject({ done: true, was: 'pending' })
      expect(await shown(queue, id)).toEqual(['cancelled'])
    }
  })

  test('is resumed of a sensitive type only where that is confirmed', async () => {
    const queue = await makeQueue()
    const { id } = await queue.holdfast.enqueue(defineType({ type: 'pay', sensitive: true }), {})
    await queue.holdfast.cancel(id, ada)
    await expect(queue.holdfast.resume(id, grace)).rejects.toMatchObject({
      code: 'confirmation_required',
      message: 'jobs of "pay" are sensitive; to replay or resume them send confirm: "pay"',
    })
    expect((await queue.holdfast.job(id))?.status).toBe('cancelled')
    expect(await queue.holdfast.resume(id, grace, { confirm: 'pay' })).toMatchObject({ done: true, status: 'pending' })
  })

  test('stands behind the job that has its unique key now, and runs after it', async () => {
    const queue = await makeQueue()
    const ran: unknown[] = []
    const type = defineType({ type: 'unique', unique: { key: 'one' }, run: (payload: unknown) => void ran.push(payload) })
    const { id } = await queue.holdfast.enqueue(type, 'first')
    await queue.holdfast.cancel(id, ada)
    const { status } = await queue.holdfast.enqueue(type, 'second')
    expect(status).toBe('created')
    expect(await queue.holdfast.resume(id, grace)).toMatchObject({ done: true, status: 'blocked' })
    await startHere(queue, [type])
    await queue.holdfast.wait(id)
    expect(ran).toEqual(['second', 'first'])
  })

  test('is approved again, also where it had been rejected', async () => {
    const queue = await makeQueue()
    const type = defineType({ type: 'asks', approval: true, run: () => 'done' })
    await startHere(queue, [type])
    const { id } = await queue.holdfast.enqueue(type, {}, { delay: '1h' })
    await queue.holdfast.approve(id, { by: 'bob' })
    await queue.holdfast.cancel(id, ada)
    expect(await queue.holdfast.resume(id, grace)).toMatchObject({ done: true, status: 'awaiting_approval' })
    expect((await queue.holdfast.job(id))?.changes.at(-1)).toMatchObject({ before: { approved_by: ['bob'] } })
    await queue.holdfast.reject(id, ada)
    expect(await queue.holdfast.resume(id, grace)).toMatchObject({ done: true, status: 'awaiting_approval' })
    expect(await queue.holdfast.approve(id, { by: 'bob' })).toMatchObject({ done: true, status: 'scheduled' })
    await queue.holdfast.runNow(id, grace)
    expect(await queue.holdfast.wait(id)).toBe('done')
  })

  test('keeps its body beside a sweep that had found it old', async () => {
    const queue = await makeQueue()
    const id = await cancelled(queue, { id: '0190a5c6-0000-7000-8000-000000000000' })
    const [resuming, sweeping] = [await queue.connect(), await queue.connect()]
    await resuming.query('begin')
    await resuming.query(`select holdfast.resume_job($1, holdfast.actor('grace'))`, [id])
    const sweep = sweeping.query(`select holdfast.sweep_rest('0', '0')`)
    const waits =
      "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%sweep_rest%' and datname = current_database()"
    await eventually(async () => (await queue.sql(waits)).length === 1)
    await resuming.query('commit')
    await sweep
    expect(await queue.sql('select id from holdfast.bodies')).toEqual([{ id }])
    expect(await shown(queue, id)).toEqual(['pending'])
  })

  test('counts as a live member of its batch, and of its execution, which runs again', async () => {
    const queue = await makeQueue()
    const later = defineType({ type: 'later', run() {} })
    const flow = defineWorkflow({
      name: 'two',
      tasks(task) {
        const first = task('first', { delay: '1h', run: () => 1 })
        return task('last', { after: [first], run: () => 'done' })
      },
    })
    await startHere(queue, [later, ...flow.types])
    const { id: batch } = await queue.holdfast.batch({ jobs: [later.job({}, { delay: '1h' })] })
    const { id: execution } = await queue.holdfast.start(flow, {})
    const [member] = await queue.sql('select job_id from holdfast.members where group_id = $1', [batch])
    const inBatch = member?.job_id as string
    const inExecution = (await queue.holdfast.executions.get(execution))?.tasks.find(({ name }) => name === 'first')
      ?.jobId as string
    await queue.holdfast.cancel(inBatch, ada)
    await queue.holdfast.cancel(inExecution, ada)
    await eventually(async () => (await queue.holdfast.batches.get(batch))?.status === 'failed')
    await eventually(async () => (await queue.holdfast.executions.get(execution))?.status === 'failed')
    await queue.holdfast.resume(inBatch, grace)
    await queue.holdfast.resume(inExecution, grace)
    await eventually(async () => (await queue.holdfast.executions.get(execution))?.status === 'running')
    for (const id of [inBatch, inExecution]) await queue.holdfast.runNow(id, grace)
    await eventually(async () => (await queue.holdfast.batches.get(batch))?.status === 'succeeded')
    expect(await queue.holdfast.batches.get(batch)).toMatchObject({ completed: 1, cancelled: 0, round: 2 })
    expect(await queue.holdfast.executions.wait(execution)).toBe('done')
  })

  test('is not resumed where another job does its task, since the execution was resumed as a whole', async () => {
    const queue = await makeQueue()
    const flow = defineWorkflow({ name: 'one', tasks: (task) => task('only', { delay: '1h', run: () => 'done' }) })
    await startHere(queue, flow.types)
    const { id: execution } = await queue.holdfast.start(flow, {})
    const job = async () => (await queue.holdfast.executions.get(execution))?.tasks[0]?.jobId as string
    const id = await job()
    await queue.holdfast.cancel(id, ada)
    await eventually(async () => (await queue.holdfast.executions.get(execution))?.status === 'failed')
    await queue.holdfast.executions.resume(execution, grace)
    expect(await queue.holdfast.resume(id, grace)).toMatchObject({
      ...{ done: false, because: 'its execution was resumed, and another job does its task' },
    })
  })
})

test('a job that is not cancelled is not resumed, and the answer says what it is', async () => {
  const queue = await makeQueue()
  const type = defineType({
    type: 'ends',
    run(payload: unknown) {
      if (payload === 'dies') throw new FatalError('no')
    },
  })
  await startHere(queue, [type])
  const good = await queue.holdfast.enqueue(type, 'ends')
  const bad = await queue.holdfast.enqueue(type, 'dies')
  const waiting = await queue.holdfast.enqueue(type, 'waits', { delay: '1h' })
  await isNow(queue, good.id, 'completed')
  await isNow(queue, bad.id, 'dead')
  const because = async (id: string) => (await queue.holdfast.resume(id, grace)).because
  expect(await because(good.id)).toBe('it has already completed')
  expect(await because(bad.id)).toBe('it is dead; it can be replayed or discarded')
  expect(await because(waiting.id)).toBe('it is not cancelled but scheduled')
  await expect(queue.holdfast.resume('0190a5c6-0000-7000-8000-000000000000', grace)).rejects.toMatchObject({ code: 'not_found' })
})

test('a dead job that is replayed keeps its finished steps, and loses them with another payload', async () => {
  const queue = await makeQueue()
  const ran: unknown[] = []
  const type = defineType({
    type: 'dies',
    async run(payload: unknown, ctx: RunContext) {
      await ctx.step('one', () => void ran.push(payload))
      throw new FatalError('always')
    },
  })
  await startHere(queue, [type])
  const { id } = await queue.holdfast.enqueue(type, 'as it was')
  const died = (times: number) =>
    eventually(async () => {
      const story = await queue.holdfast.job(id)
      return story?.status === 'dead' && story.attempts.length === times
    })
  await died(1)
  await queue.holdfast.deadLetters.replay(id, grace)
  await died(2)
  expect(ran).toEqual(['as it was'])
  await queue.holdfast.deadLetters.replay(id, grace, { payload: 'otherwise' })
  await died(3)
  expect(ran).toEqual(['as it was', 'otherwise'])
})
