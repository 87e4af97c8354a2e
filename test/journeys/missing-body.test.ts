import { defineType, type Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { makeQueue, type Queue } from '../support/queue.js'
import { serve } from '../support/serving.js'

/** A job whose body is missing cannot run. It ends where people see it, from wherever it stands, and does not vanish on the way. */
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const soon = { timeout: 20_000, interval: 100 }
const ada = { by: 'ada' }
const ran: unknown[] = []
const work = defineType({ type: 'work', run: (payload) => void ran.push(payload) })
let queue: Queue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeQueue()
  holdfast = queue.holdfast
  await holdfast.registerTypes([work])
  ran.length = 0
})

const loseBody = (id: string) => queue.sql('delete from holdfast.bodies where id = $1', [id])
const where = async (id: string) => (await queue.sql('select place from holdfast.whereabouts($1)', [id]))[0]?.place

async function run(): Promise<void> {
  const worker = await startWorker(holdfast, [work], { logger: quiet })
  onTestFinished(() => worker.stop())
}

async function endsDead(id: string): Promise<void> {
  await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe('dead'), soon)
  expect(await holdfast.job(id)).toMatchObject({
    ...{ type: 'work', status: 'dead', payload: null },
    attempts: [{ outcome: 'failed', error: { message: 'the body of this job is missing from the database' } }],
  })
  expect((await holdfast.deadLetters.list({ type: 'work' })).letters).toMatchObject([{ id, reason: 'fatal' }])
  expect(ran).toEqual([])
}

describe('a job without its body is dead, and shown,', () => {
  it('where it stood in the queue', async () => {
    const { id } = await holdfast.enqueue(work, 1)
    await loseBody(id)
    expect(await holdfast.job(id)).toMatchObject({ type: 'work', status: 'pending', payload: null })
    expect(await holdfast.explain(id)).toMatchObject({ type: 'work', status: 'pending' })
    await run()
    await endsDead(id)
  })

  it('where its type was gated after it was queued', async () => {
    const { id } = await holdfast.enqueue(work, 1)
    await loseBody(id)
    await holdfast.flow.limit('work', { maxRunning: 1 }, { by: 'ada' })
    await run()
    await endsDead(id)
  })

  it('where it became due before a gate', async () => {
    await holdfast.flow.limit('work', { maxRunning: 1 }, { by: 'ada' })
    const { id } = await holdfast.enqueue(work, 1, { delay: 300 })
    await loseBody(id)
    expect(await where(id)).toBe('waiting')
    await run()
    await endsDead(id)
  })

  it('where somebody made it due before a gate', async () => {
    await holdfast.flow.limit('work', { maxRunning: 1 }, { by: 'ada' })
    const { id } = await holdfast.enqueue(work, 1, { delay: '1h' })
    await loseBody(id)
    expect(await holdfast.runNow(id, ada)).toMatchObject({ done: true })
    expect(await where(id)).toBe('queue')
    await run()
    await endsDead(id)
  })

  it('where a worker handed it back to its gate', async () => {
    await holdfast.flow.limit('work', { maxRunning: 1 }, { by: 'ada' })
    const { id } = await holdfast.enqueue(work, 1)
    const [claimed] = await queue.sql(
      `select lease from holdfast.claim_jobs(1, (select lane_id from holdfast.types where name = 'work'), null, 1, 60000,
                                             array_fill(0::bigint, array[10]))`,
    )
    await loseBody(id)
    await queue.sql(
      `select * from holdfast.end_moved(array[$1::uuid], array[$2::bigint], '{hand_back}', '{handed_back}', '{null}', '{0}', '{0}', '{null}', 1, '{}')`,
      [id, claimed?.lease],
    )
    expect(await where(id)).toBe('queue')
  })
})

it('a dead letter without its body is not replayed, and says why; it can be discarded', async () => {
  const { id } = await holdfast.enqueue(work, 1)
  await loseBody(id)
  await run()
  await endsDead(id)
  const other = await holdfast.enqueue(work, 'other')
  expect(await holdfast.deadLetters.replay(id, ada)).toMatchObject({
    ...{ done: false, status: 'dead' },
    because: 'its body is missing from the database; it can only be discarded',
  })
  expect(await holdfast.deadLetters.replayMany({ type: 'work' }, ada)).toMatchObject({ done: 0 })
  expect(await holdfast.deadLetters.discard(id, ada)).toMatchObject({ done: true, status: 'discarded' })
  await vi.waitFor(async () => expect((await holdfast.job(other.id))?.status).toBe('completed'), soon)
})

it('a filter finds it too, so that it can be cancelled with the others', async () => {
  const { id } = await holdfast.enqueue(work, 1, { delay: '1h' })
  await loseBody(id)
  expect(await holdfast.cancelMany({ type: 'work' }, ada)).toMatchObject({ done: 1 })
  expect((await holdfast.job(id))?.status).toBeUndefined()
})

it('a worker in another language is not handed a job without its body, as if its payload were null', async () => {
  const serving = await serve()
  onTestFinished(() => serving.end())
  await serving.holdfast.registerTypes([work])
  const ask = async (path: string, body: object) => (await serving.call('POST', `/worker/${path}`, body)).json()
  const { worker } = await ask('register', { name: 'remote', types: ['work'] })
  const { id } = await serving.holdfast.enqueue(work, 1)
  await serving.sql.query('delete from holdfast.bodies where id = $1', [id])
  await vi.waitFor(async () => {
    expect((await ask('claim', { worker })).jobs).toEqual([])
    expect((await serving.holdfast.job(id))?.status).toBe('dead')
  }, soon)
  expect((await serving.holdfast.job(id))?.attempts).toMatchObject([
    { outcome: 'failed', error: { message: 'the body of this job is missing from the database' } },
  ])
})
