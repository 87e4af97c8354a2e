import { defineType, type Holdfast, type RunContext } from 'holdfast'
import { beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { uniqueJobs } from '../support/unique-jobs.js'
import { startHere } from '../support/worker-here.js'

const unique = { key: 'k', onConflict: 'one_more' } as const
const ada = { by: 'ada' }
let queue: Queue
let holdfast: Holdfast
let first: string
let behind: string
let letGo: () => void

describe('a job behind another one of its unique key', () => {
  beforeEach(async ({ onTestFinished }) => {
    queue = await makeQueue()
    holdfast = queue.holdfast
    await holdfast.registerTypes([defineType({ type: 'sync' })])
    const sql = await queue.connect()
    const { enqueue, slowWorker, isNow } = uniqueJobs(() => ({ holdfast, sql }))
    const worker = await slowWorker()
    onTestFinished(() => worker.stop())
    letGo = () => void worker.open()
    first = (await enqueue(1, unique)).id
    await isNow(first, 'processing')
    behind = (await enqueue(2, unique)).id
  })

  it('is blocked, and found by that status', async () => {
    expect(await holdfast.job(behind)).toMatchObject({ status: 'blocked' })
    expect((await holdfast.jobs({ status: 'blocked' })).jobs.map((job) => job.id)).toEqual([behind])
    expect(await holdfast.cancelMany({ status: 'blocked' }, ada, { dryRun: true })).toMatchObject({ matched: 1 })
    letGo()
  })

  it('counts neither as depth nor as age, and is known all the same', async () => {
    await queue.sql('select holdfast.measure_depths()')
    const counted = await queue.sql(
      `select coalesce(sum(waiting), 0)::int as waiting, sum(scheduled)::int as scheduled, sum(blocked)::int as blocked,
              max(oldest_at) as oldest from holdfast.depths`,
    )
    expect(counted).toEqual([{ waiting: 0, scheduled: 0, blocked: 1, oldest: null }])
    expect(await queue.sql('select total::int from holdfast.enqueued')).toEqual([{ total: 2 }])
    letGo()
  })

  it('cannot be run now, keeps its place under another priority and time, and is cancelled like any other', async () => {
    expect(await holdfast.runNow(behind, ada)).toMatchObject({
      ...{ done: false, status: 'blocked', because: 'it waits for another job of its unique key' },
    })
    expect(await holdfast.setPriority(behind, 9, ada)).toMatchObject({ done: true, status: 'blocked' })
    expect(await holdfast.reschedule(behind, { delay: '1h' }, ada)).toMatchObject({ done: true, status: 'blocked' })
    expect(await holdfast.explain(behind)).toMatchObject({ status: 'blocked', gates: [{ gate: 'behind', heldBy: [first] }] })
    expect(await holdfast.cancel(behind, ada)).toMatchObject({ done: true, was: 'blocked', status: 'cancelled' })
    letGo()
  })
})

describe('a job that waits for something else', () => {
  beforeEach(async () => {
    queue = await makeQueue()
    holdfast = queue.holdfast
  })

  it('counts neither as depth nor as age while it waits for a signal', async () => {
    const asks = defineType({ type: 'asks', run: (_, ctx: RunContext) => ctx.waitFor('go') })
    await startHere(queue, [asks])
    const { id } = await holdfast.enqueue(asks, {})
    await countsAsBlockedOnly(id)
    await holdfast.signal(id, 'go')
    await eventually(async () => (await holdfast.job(id))?.status === 'completed')
  })

  it('counts neither as depth nor as age while no worker knows its version', async () => {
    const newer = defineType({ type: 'greet', version: 2, upcast: { 1: (payload) => payload }, run() {} })
    await startHere(queue, [defineType({ type: 'greet', run() {} })])
    const { id } = await holdfast.enqueue(newer, {})
    await countsAsBlockedOnly(id)
    await startHere(queue, [newer])
    await eventually(async () => (await holdfast.job(id))?.status === 'completed')
  })

  async function countsAsBlockedOnly(id: string): Promise<void> {
    await eventually(async () => (await holdfast.job(id))?.status === 'blocked')
    const counted = `select sum(waiting)::int as waiting, sum(scheduled)::int as scheduled, sum(retrying)::int as retrying,
                            sum(running)::int as running, sum(blocked)::int as blocked, max(oldest_at) as oldest from holdfast.count_living()`
    expect(await queue.sql(counted)).toEqual([{ waiting: 0, scheduled: 0, retrying: 0, running: 0, blocked: 1, oldest: null }])
  }
})
