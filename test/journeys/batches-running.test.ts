import { type AnyJobType, defineType, FatalError } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { ended, types } from '../support/batches.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const who = { by: 'ada', why: 'to see what happens' }

describe('while a batch runs', () => {
  test('members add members, and it ends with the last of them', async () => {
    const queue = await makeQueue()
    const made: { part?: AnyJobType } = {}
    const { part, callbacks, called, all } = types(async (payload, job) => {
      const left = Number(payload)
      if (left === 0) return
      const batch = await queue.holdfast.batches.of(job)
      await queue.holdfast.batches.add(
        batch?.id as string,
        [0, left - 1].map((next) => (made.part as AnyJobType).job(String(next))),
      )
    })
    made.part = part
    const { id } = await queue.holdfast.batch({ jobs: [part.job('5')], ...callbacks })
    await startHere(queue, all)
    expect(await ended(queue, id)).toMatchObject({ status: 'succeeded', total: 11, completed: 11, round: 1 })
    await eventually(() => called.length === 2)
  })

  test('it is kept open until it is closed, and takes no more members after its end', async () => {
    const queue = await makeQueue()
    const { part, callbacks, called, all } = types()
    await startHere(queue, all)
    const { id } = await queue.holdfast.batch({ open: true, ...callbacks })
    await queue.holdfast.batches.add(id, [part.job('a')])
    await eventually(async () => (await queue.holdfast.batches.get(id))?.completed === 1)
    expect(await queue.holdfast.batches.get(id)).toMatchObject({
      status: 'running',
      open: true,
      waitsFor: 'somebody to close it',
    })
    expect(await queue.holdfast.batches.close(id)).toBe(true)
    expect(await ended(queue, id)).toMatchObject({ status: 'succeeded', total: 1 })
    expect(await queue.holdfast.batches.close(id)).toBe(false)
    await eventually(() => called.length === 2)
    await expect(queue.holdfast.batches.add(id, [part.job('late')])).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/has ended/),
    })
    expect(await queue.sql('select from holdfast.jobs where payload::text = \'"late"\'')).toEqual([])
    const unknown = jobId(id)
    await expect(queue.holdfast.batches.add(unknown, [part.job('x')])).rejects.toMatchObject({ code: 'not_found' })
    await expect(queue.holdfast.batches.close(unknown)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('it does not end while somebody adds a member in a transaction that is still open', async () => {
    const queue = await makeQueue()
    const { part, callbacks, all } = types()
    const { id } = await queue.holdfast.batch({ jobs: [part.job('a')], ...callbacks })
    for (const end of ['commit', 'rollback']) {
      const batch = end === 'commit' ? id : (await queue.holdfast.batch({ jobs: [part.job('a')] })).id
      const tx = await queue.connect()
      await tx.query('begin')
      await queue.holdfast.batches.add(batch, [part.job('b')], { tx })
      const worker = await startHere(queue, all)
      await eventually(async () => (await queue.holdfast.batches.get(batch))?.completed === 1)
      await eventually(
        async () => (await queue.sql('select from holdfast.batches where id = $1 and look_again', [batch])).length === 1,
      )
      expect((await queue.holdfast.batches.get(batch))?.status).toBe('running')
      await tx.query(end)
      expect(await ended(queue, batch)).toMatchObject({ status: 'succeeded', completed: end === 'commit' ? 2 : 1, round: 1 })
      await worker.stop()
    }
  })

  test('the rest is cancelled: what waits at once, what runs when its handler has stopped', async () => {
    const queue = await makeQueue()
    const called: string[] = []
    let running = 0
    const slow = defineType({
      type: 'slow',
      run: async (_: unknown, { signal }) => {
        running++
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
      },
    })
    const done = defineType({ type: 'done', run: async (payload: unknown) => void called.push(payload as string) })
    const { id } = await queue.holdfast.batch({
      jobs: [...Array(30).keys()].map((n) => slow.job({ n })),
      ...{ onSuccess: done.job('success'), onFailure: done.job('failure'), onComplete: done.job('complete') },
    })
    await startHere(queue, [slow, done], { concurrency: 4 })
    await eventually(() => running >= 4)
    expect(await queue.holdfast.batches.cancel(id, who)).toEqual({ id, done: true, was: 'running' })
    expect(await ended(queue, id)).toMatchObject({ status: 'cancelled', cancelled: 30, live: 0, cancelledBy: 'ada' })
    await eventually(() => called.length === 1)
    expect(called).toEqual(['complete'])
    expect(await queue.holdfast.batches.cancel(id, who)).toMatchObject({ done: false, was: 'cancelled' })
    await expect(queue.holdfast.batches.add(id, [slow.job({})])).rejects.toMatchObject({ code: 'conflict' })
    expect((await queue.holdfast.audit({ action: 'cancel_batch' })).map(({ actor, target }) => [actor, target])).toEqual([
      ['ada', id],
    ])
  })

  test('a member that is added by somebody who has not heard of the cancel is cancelled too', async () => {
    const queue = await makeQueue()
    const { part, all } = types()
    const { id } = await queue.holdfast.batch({ jobs: [part.job('a', { delay: '1h' })] })
    const tx = await queue.connect()
    await tx.query('begin')
    await queue.holdfast.batches.add(id, [part.job('b', { delay: '1h' })], { tx })
    await queue.holdfast.batches.cancel(id, who)
    await tx.query('commit')
    await startHere(queue, all)
    expect(await ended(queue, id)).toMatchObject({ status: 'cancelled', cancelled: 2, total: 2 })
  })
})

test('a callback that is at work may retry the failed members: the next round ends with callbacks of its own', async () => {
  const queue = await makeQueue()
  const called: string[] = []
  let broken = true
  const part = defineType({
    type: 'part',
    maxAttempts: 1,
    run: () => {
      if (broken) throw new FatalError('broken')
    },
  })
  const done = defineType({
    type: 'done',
    run: async (kind: string, { job }) => {
      if (kind === 'failure') {
        broken = false
        const { id = '' } = (await queue.holdfast.batches.of(job.id)) ?? {}
        await queue.holdfast.batches.retry(id, who)
        // The next round is over before this callback of the first one is.
        await eventually(async () => (await queue.holdfast.batches.get(id))?.status === 'succeeded')
      }
      called.push(kind)
    },
  })
  const { id } = await queue.holdfast.batch({
    jobs: [part.job({}), part.job({})],
    ...{ onSuccess: done.job('success'), onFailure: done.job('failure'), onComplete: done.job('complete') },
  })
  await startHere(queue, [part, done], { concurrency: 4 })
  await eventually(() => called.length === 4)
  expect(called.sort()).toEqual(['complete', 'complete', 'failure', 'success'])
  expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'succeeded', round: 2, completed: 2, dead: 0 })
})

/** One that is not kept. */
function jobId(like: string): string {
  return `${like.slice(0, -4)}${like.endsWith('0000') ? '1111' : '0000'}`
}
