import { defineType, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { chunked, claimed, enqueue, held, named, noDrift, once, outcomes, statuses } from '../support/chunks.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

test('one call takes as many jobs as it may, in their order, and each of them ends by its own entry of the list', async () => {
  const queue = await makeQueue()
  const calls: string[][] = []
  const type = chunked(
    (jobs, { snooze }) => {
      calls.push(named(jobs))
      return jobs.map(({ payload, ctx }) => {
        ctx.log(`sees ${payload}`)
        if (payload === 'fails') return new Error('no ink')
        if (payload === 'dies') return new FatalError('no paper')
        if (payload === 'snoozes') return snooze('1h')
        return payload === 'quiet' ? undefined : { got: payload }
      })
    },
    { size: 4 },
    { limits: { breaker: false } },
  )
  const jobs = await enqueue(queue, type, ['a', 'fails', 'dies', 'snoozes', 'quiet', 'b'])
  await startHere(queue, [type])
  const [a, fails, dies, snoozes, quiet, b] = jobs.map(({ id }) => id) as [string, string, string, string, string, string]
  expect(await Promise.all([a, quiet, b].map((id) => queue.holdfast.wait(id)))).toEqual([{ got: 'a' }, undefined, { got: 'b' }])
  expect(calls).toEqual([
    ['a', 'fails', 'dies', 'snoozes'],
    ['quiet', 'b'],
  ])
  await eventually(async () => (await statuses(queue, [{ id: fails }]))[0] === 'failed')
  expect(await queue.holdfast.job(fails)).toMatchObject({ attempts: [{ outcome: 'failed', error: { message: 'no ink' } }] })
  await expect(queue.holdfast.wait(dies)).rejects.toMatchObject({ reason: 'fatal', message: expect.stringMatching(/no paper/) })
  expect(await queue.holdfast.job(snoozes)).toMatchObject({ status: 'scheduled', attempts: [{ outcome: 'snoozed' }] })
  expect((await queue.holdfast.log(a)).map(({ line }) => line)).toEqual(['sees a'])
  await noDrift(queue)
})

test('a call begins when it is full, or when its first job has waited for as long as the type says', async () => {
  const queue = await makeQueue()
  const calls: string[][] = []
  const slow = chunked((jobs) => void calls.push(named(jobs)), { size: 3, wait: '60s' })
  const soon = defineType({
    ...once,
    type: 'soon',
    chunk: { size: 3, wait: '20ms' },
    run: (jobs) => void calls.push(jobs.map(String)),
  })
  await startHere(queue, [slow, soon])
  const jobs = [...(await enqueue(queue, slow, ['a'])), ...(await enqueue(queue, slow, ['b']))]
  await claimed(queue, 2)
  await queue.holdfast.wait(await queue.holdfast.enqueue(soon, 1))
  expect(calls).toHaveLength(1)
  jobs.push(...(await enqueue(queue, slow, ['c'])))
  await Promise.all(jobs.map(({ id }) => queue.holdfast.wait(id)))
  expect(calls.at(-1)?.toSorted()).toEqual(['a', 'b', 'c'])
})

test('an error that the call throws, or that escapes it, is the failure of all its jobs, and a list that does not fit ends them', async () => {
  const queue = await makeQueue()
  const type = chunked(
    (jobs) => {
      if (jobs[0]?.payload === 'throws') throw new Error('the other side is away')
      if (jobs[0]?.payload === 'short') return [1]
      Promise.reject(new Error('nobody waits for this'))
      return new Promise(() => {})
    },
    { size: 2 },
  )
  const jobs = await enqueue(queue, type, ['throws', 'b', 'short', 'd', 'escapes', 'f'])
  await startHere(queue, [type])
  const errors = await Promise.all(
    jobs.map(({ id }) =>
      queue.holdfast.wait(id).then(
        () => new Error('it ended well'),
        (error: Error) => error,
      ),
    ),
  )
  for (const error of errors.slice(0, 2)) expect(error.message).toMatch('the other side is away')
  for (const error of errors.slice(2, 4)) {
    expect(error).toMatchObject({ reason: 'fatal' })
    expect(error.message).toMatch('the handler of chunked was given 2 jobs and returned a list of 1;')
  }
  for (const error of errors.slice(4)) expect(error.message).toMatch('nobody waits for this')
  await noDrift(queue)
})

test('a payload that does not fit fails alone, and the call goes on without it', async () => {
  const queue = await makeQueue()
  const { type, calls, letGo } = held()
  letGo()
  const wrong = defineType({ type: 'chunked', ...once })
  const jobs = await queue.holdfast.enqueueMany([type.job('a'), wrong.job({ no: 'text' }), type.job('b')])
  await startHere(queue, [type])
  await eventually(async () => (await statuses(queue, jobs)).join() === 'completed,dead,completed')
  expect(calls).toEqual([['a', 'b']])
})

test('the timeout counts from the beginning of the call, ends each of its jobs, and frees the slot of the call', async () => {
  const queue = await makeQueue()
  const { type, whole, calls } = held({ ...once, timeout: '300ms' }, { size: 2, wait: '400ms' })
  await startHere(queue, [type])
  const jobs = await enqueue(queue, type, ['a'])
  await eventually(async () => (await statuses(queue, jobs)).join() === 'dead')
  jobs.push(...(await enqueue(queue, type, ['b', 'c'])))
  await eventually(async () => (await statuses(queue, jobs)).join() === 'dead,dead,dead')
  expect(await outcomes(queue, jobs)).toEqual([['timed_out'], ['timed_out'], ['timed_out']])
  expect(whole.map(({ reason }) => reason.name)).toEqual(['TimeoutError', 'TimeoutError'])
  expect(calls.map((call) => call.toSorted())).toEqual([['a'], ['b', 'c']])
})

test('of one job that is cancelled, and one whose lease is lost, only their own signals fire, and the others complete', async () => {
  const queue = await makeQueue()
  const { type, calls, whole, each, letGo } = held({ ...once, maxAttempts: 3 }, { size: 3, wait: '60s' })
  await startHere(queue, [type], { lease: '1s' })
  const jobs = await enqueue(queue, type, ['cancelled'])
  await claimed(queue, 1)
  jobs.push(...(await enqueue(queue, type, ['lost'])))
  await claimed(queue, 2)
  jobs.push(...(await enqueue(queue, type, ['kept'])))
  await eventually(() => calls.length === 1)
  const [cancelled, lost, kept] = jobs.map(({ id }) => id) as [string, string, string]
  await queue.holdfast.cancel(cancelled, { by: 'ada' })
  await queue.sql('delete from holdfast.leases where id = (select lease_id from holdfast.queue where job_id = $1)', [lost])
  await queue.sql('update holdfast.queue set lease_id = null where job_id = $1', [lost])
  await eventually(() => each.get('cancelled')?.aborted && each.get('lost')?.aborted)
  expect(each.get('cancelled')?.reason).toMatchObject({ code: 'job_cancelled' })
  expect(each.get('lost')?.reason).toMatchObject({ code: 'lease_lost' })
  expect([each.get('kept')?.aborted, whole[0]?.aborted]).toEqual([false, false])
  letGo()
  expect(await queue.holdfast.wait(kept)).toBe('kept')
  expect(await statuses(queue, [{ id: cancelled }])).toEqual(['cancelled'])
})

test('all jobs of a call complete in one transaction with the rows of the handler, or none does', async () => {
  const queue = await makeQueue()
  await queue.sql('create table orders (id text primary key)')
  const client = await queue.connect()
  const type = chunked(
    async (jobs) => {
      await client.query('begin')
      for (const { payload, ctx } of jobs) {
        await client.query('insert into orders values ($1)', [payload])
        await ctx.completeWith(client, payload.toUpperCase())
      }
      const good = jobs.every(({ payload }) => payload !== 'd')
      await client.query(good ? 'commit' : 'rollback')
      if (!good) throw new Error('out of stock')
      return undefined
    },
    { size: 2, wait: '60s' },
  )
  const jobs = await enqueue(queue, type, ['a', 'b', 'c', 'd'])
  await startHere(queue, [type])
  const ends = await Promise.all(jobs.map(({ id }) => queue.holdfast.wait(id).catch((error) => error.message)))
  expect(ends.slice(0, 2)).toEqual(['A', 'B'])
  for (const end of ends.slice(2)) expect(end).toMatch('out of stock')
  expect(await queue.sql('select id from orders order by id')).toEqual([{ id: 'a' }, { id: 'b' }])
  await noDrift(queue)
})

test('what one job of a call keeps secret is taken out of the errors and log lines of all', async () => {
  const queue = await makeQueue()
  const type = defineType({
    ...once,
    type: 'paying',
    payload: z.object({ card: z.string() }),
    redact: ['card'],
    chunk: { size: 2 },
    run(jobs) {
      const all = jobs.map((job) => job.payload.card).join()
      jobs[0]?.ctx.log(`charging ${all}`)
      throw new Error(`cannot charge ${all}`)
    },
  })
  const jobs = await queue.holdfast.enqueueMany(['4111-1111', '5500-0000'].map((card) => type.job({ card })))
  await startHere(queue, [type])
  const stories = async () => Promise.all(jobs.map(({ id }) => queue.holdfast.job(id)))
  await eventually(async () => (await stories()).every((job) => job?.status === 'dead'))
  for (const story of await stories()) {
    expect(story?.attempts).toMatchObject([{ error: { message: 'cannot charge [redacted],[redacted]' } }])
    expect(JSON.stringify(story)).not.toMatch(/4111|5500/)
  }
  expect((await queue.holdfast.log(jobs[0]?.id as string)).map(({ line }) => line)).toEqual(['charging [redacted],[redacted]'])
})

test('a job of a call has steps, and cannot sleep or wait for a signal, because the call goes on for the others', async () => {
  const queue = await makeQueue()
  const type = chunked(
    (jobs) =>
      Promise.all(
        jobs.map(async ({ payload, ctx }) => {
          if (payload !== 'sleeps') return ctx.step('shout', () => payload.toUpperCase())
          // @ts-expect-error A job of a chunk has no sleep.
          return ctx.sleep('1h').catch((error: Error) => error)
        }),
      ),
    { size: 2 },
  )
  const jobs = await enqueue(queue, type, ['a', 'sleeps'])
  await startHere(queue, [type])
  const [a, sleeps] = jobs.map(({ id }) => id) as [string, string]
  expect(await queue.holdfast.wait(a)).toBe('A')
  await expect(queue.holdfast.wait(sleeps)).rejects.toThrow(
    'a job of a chunk cannot sleep, because its call goes on for the others',
  )
  expect((await queue.holdfast.job(a))?.steps).toMatchObject([{ name: 'shout' }])
})

test('a definition whose chunk has no meaning is refused, with everything that is wrong with it', () => {
  const define = (more: object) => () => defineType({ type: 'wrong', run: () => undefined, ...more })
  expect(define({ chunk: { size: 0 } })).toThrow('chunk.size is 0; it must be a whole number from 1 to 1000')
  expect(define({ chunk: { size: 5, wait: '2m' } })).toThrow('chunk.wait of wrong is more than 60 seconds')
  expect(define({ chunk: { size: 5, within: 1 } })).toThrow('chunk.within is not known')
  expect(define({ chunk: 5 })).toThrow('chunk of wrong is 5; it must be { size, wait }')
  for (const isolation of ['thread', 'process']) {
    expect(define({ isolation, chunk: { size: 5 } })).toThrow(`chunk of wrong has no use with isolation: '${isolation}': `)
  }
})
