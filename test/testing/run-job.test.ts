import { defineType, FatalError, JobCancelledError, RetryableError } from 'holdfast'
import { runJob, scratchQueue } from 'holdfast/testing'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const order = defineType({
  type: 'order',
  payload: z.object({ item: z.string(), count: z.number().default(1) }),
  maxAttempts: 3,
  backoff: { base: '1m', jitter: '30s' },
  async run({ item, count }, ctx) {
    ctx.log(`attempt ${ctx.job.attempt} of ${ctx.job.maxAttempts}`)
    ctx.progress(0.5, 'half')
    const paid = await ctx.step('pay', () => ({ amount: count * 10 }))
    if (item === 'none left') throw new FatalError('sold out')
    if (ctx.job.attempt === 1) throw new Error('the store is closed')
    return { item, paid: paid.amount }
  },
})

describe('a job that is run by hand', () => {
  test('tells its result, log lines, progress and steps, without worker or database', async () => {
    const run = await runJob(order, { item: 'lamp' }, { attempt: 2 })
    expectTypeOf(run.result).toEqualTypeOf<{ item: string; paid: number } | undefined>()
    expect(run).toMatchObject({
      status: 'completed',
      attempt: 2,
      result: { item: 'lamp', paid: 10 },
      error: undefined,
      nextInMs: null,
      log: [{ level: 'info', line: 'attempt 2 of 3' }],
      progress: [{ fraction: 0.5, note: 'half' }],
      steps: [{ name: 'pay', kind: 'step', state: 'completed', result: { amount: 10 } }],
    })
  })

  test('fails, waits and dies as it would, with the error itself', async () => {
    const failed = await runJob(order, { item: 'lamp' })
    expect(failed).toMatchObject({ status: 'failed', nextInMs: 60_000, error: { message: 'the store is closed' } })
    const dead = await runJob(order, { item: 'none left' })
    expect([dead.status, dead.error]).toEqual(['dead', expect.any(FatalError)])
    const exhausted = await runJob(order, { item: 'lamp' }, { maxAttempts: 1 })
    expect(exhausted).toMatchObject({ status: 'dead', nextInMs: null })
    const asked = defineType({
      type: 'asked',
      run() {
        throw new RetryableError('busy', { after: '2h' })
      },
    })
    expect(await runJob(asked, null)).toMatchObject({ status: 'failed', nextInMs: 7_200_000 })
  })

  test('refuses a payload as it would: what is not JSON at once, what does not fit the schema as a dead job', async () => {
    await expect(runJob(order, { item: 1n } as never)).rejects.toMatchObject({ code: 'invalid_payload' })
    expect(await runJob(order, { item: 1 } as never)).toMatchObject({
      status: 'dead',
      error: { message: expect.stringContaining('does not fit') },
    })
    await expect(runJob(defineType({ type: 'declared' }), null)).rejects.toMatchObject({ code: 'missing_handler' })
  })

  test('goes on after a run: its steps are not done again, and what it slept or waited for is over', async () => {
    let charged = 0
    const trial = defineType({
      type: 'trial',
      async run(_, ctx) {
        await ctx.checkpoint({ begun: true })
        await ctx.step('charge', () => ++charged)
        await ctx.sleep('3 days')
        const answer = await ctx.waitFor<string>('answer', { timeout: '1 day' })
        return { answer: answer ?? 'none', begun: await ctx.lastCheckpoint() }
      },
    })
    const asleep = await runJob(trial, null)
    expect(asleep).toMatchObject({ status: 'scheduled', nextInMs: 259_200_000, checkpoint: { begun: true } })
    const waiting = await runJob(trial, null, { after: asleep })
    expect(waiting).toMatchObject({ status: 'blocked', nextInMs: 86_400_000, id: asleep.id, attempt: 1 })
    expect(waiting.steps.map(({ name, state }) => `${name} ${state}`)).toEqual([
      'charge completed',
      'sleep completed',
      'answer waiting',
    ])
    const late = await runJob(trial, null, { after: waiting })
    expect(late.result).toEqual({ answer: 'none', begun: { begun: true } })
    const answered = await runJob(trial, null, { after: waiting, signals: { answer: 'yes' } })
    expect(answered.result).toEqual({ answer: 'yes', begun: { begun: true } })
    expect(charged).toBe(1)
    const retried = await runJob(order, { item: 'lamp' }, { after: await runJob(order, { item: 'lamp' }) })
    expect(retried).toMatchObject({ status: 'completed', attempt: 2 })
  })

  test('is told by its signal when its time is over or it is cancelled', async () => {
    const reasons: unknown[] = []
    const slow = defineType({
      type: 'slow',
      timeout: '20ms',
      run: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const late = await runJob(slow, null)
    expect(late).toMatchObject({ status: 'failed', error: { name: 'TimeoutError' } })
    const stoppable = defineType({
      type: 'stoppable',
      async run(_, { signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reasons.push(signal.reason)
      },
    })
    const cancelled = await runJob(stoppable, null, { signal: AbortSignal.timeout(10) })
    expect(cancelled.status).toBe('cancelled')
    expect(reasons).toEqual([expect.any(JobCancelledError)])
  })

  test('is a task of a workflow, or the job of a tick, when it is told so', async () => {
    const task = defineType({
      type: 'task',
      run: async (_, ctx) => ({
        ...(await ctx.parents()),
        input: (await ctx.execution()).input,
        tick: ctx.scheduledFor?.toISOString(),
      }),
    })
    const scheduledFor = new Date('2031-01-01T00:00:00Z')
    const { result } = await runJob(task, null, { parents: { fetch: { rows: 3 } }, input: { day: 1 }, scheduledFor })
    expect(result).toEqual({ fetch: { rows: 3 }, input: { day: 1 }, tick: scheduledFor.toISOString() })
  })

  test('tells what it enqueued, and completes in a transaction, where it has a scratch queue', async () => {
    await using queue = await scratchQueue()
    const mail = defineType({ type: 'mail' })
    const signUp = defineType({
      type: 'sign_up',
      run: (name: string, ctx) =>
        ctx.completeWith(async (tx) => {
          await queue.holdfast.enqueue(mail, { to: name }, { tx })
          if (name === 'bob') throw new Error('bob is not welcome')
          return { name }
        }),
    })
    await queue.holdfast.enqueue(mail, { to: 'before' })
    const run = await queue.runJob(signUp, 'ada')
    expect(run).toMatchObject({
      status: 'completed',
      result: { name: 'ada' },
      enqueued: [{ type: 'mail', payload: { to: 'ada' } }],
    })
    expect(await queue.runJob(signUp, 'bob')).toMatchObject({ status: 'failed', enqueued: [] })
    expect(await runJob(signUp, 'ada')).toMatchObject({ error: { message: expect.stringContaining('runJob of a scratchQueue') } })
  })
})
