import { readFileSync } from 'node:fs'
import { defineType, type RunContext } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const handlers = new URL('../support/step-handlers.mjs', import.meta.url)
const backoff = { base: 1, cap: 1, jitter: 0 }

async function isNow(queue: Queue, id: string, status: string): Promise<void> {
  await eventually(async () => (await queue.holdfast.job(id))?.status === status, { within: 60_000 })
}

/** A queue with a worker whose jobs run `run`, and one job of it. */
async function running(run: (payload: unknown, ctx: RunContext) => unknown, options: object = {}) {
  const queue = await makeQueue()
  const type = defineType({ type: 'stepped', backoff, ...options, run })
  const worker = await startHere(queue, [type])
  return { queue, type, worker, ...(await queue.holdfast.enqueue(type, {})) }
}

describe('a handler made of steps', () => {
  test.each(['inline', 'thread', 'process'])(
    'in a place called %s runs each step once, sleeps, and waits for its signal',
    async (place) => {
      const queue = await makeQueue()
      await startHere(queue, handlers)
      const file = queue.ledger.beside('steps')
      const { id } = await queue.holdfast.enqueue(`steps_${place}`, { file, failAt: 1 })
      await isNow(queue, id, 'blocked')
      const ran = () => readFileSync(file, 'utf8').trim().split('\n')
      expect(ran()).toEqual(['one', 'many 2', 'many 3', 'effect'])
      await queue.holdfast.signal(id, 'go', { by: 'ada' })
      expect(await queue.holdfast.wait(id)).toEqual({ one: { n: 1 }, both: [2, 3], key: `${id}:effect`, signal: { by: 'ada' } })
      expect(ran()).toHaveLength(4)
      const story = await queue.holdfast.job(id)
      expect(story?.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
        ...[
          [1, 'failed'],
          [2, 'snoozed'],
          [2, 'snoozed'],
          [2, 'completed'],
        ],
      ])
      expect(story?.steps.map(({ name, kind, state, result }) => [name, kind, state, result])).toEqual([
        ['one', 'step', 'completed', { n: 1 }],
        ['many', 'step', 'completed', 2],
        ['many#2', 'step', 'completed', 3],
        ['sleep', 'sleep', 'completed', undefined],
        ['effect', 'once', 'completed', `${id}:effect`],
        ['go', 'signal', 'completed', { by: 'ada' }],
      ])
      expect(story?.signals).toMatchObject([{ name: 'go', payload: { by: 'ada' }, delivered: true }])
    },
  )

  test('tries a step again inside of its attempt, and ends one that takes too long', async () => {
    const tries: number[] = []
    const { queue, id } = await running(async (_, ctx) => {
      const kept = await ctx.step(
        'flaky',
        ({ attempt }) => {
          tries.push(attempt)
          if (attempt < 3) throw new Error('not yet')
          return 'third time'
        },
        { retry: { attempts: 3, backoff } },
      )
      const late = await ctx
        .step('slow', ({ signal }) => new Promise((end) => signal.addEventListener('abort', end)), { timeout: '20ms' })
        .catch((error: Error) => error.message)
      return { kept, late }
    })
    expect(await queue.holdfast.wait(id)).toEqual({
      ...{ kept: 'third time', late: 'step "slow" took longer than its timeout of 20ms' },
    })
    expect(tries).toEqual([1, 2, 3])
  })

  test('that calls a step, a sleep or a wait inside of a step is told so at once, and not when a retry no longer comes to it', async () => {
    const queue = await makeQueue()
    const calls: [string, (ctx: RunContext) => Promise<unknown>][] = [
      ['the step', (ctx) => ctx.step('inner', () => 1)],
      ['the step', (ctx) => ctx.once('inner', () => 1)],
      ['the sleep', (ctx) => ctx.sleep('1h', 'inner')],
      ['the wait for the signal', (ctx) => ctx.waitFor('inner')],
    ]
    const types = calls.map(([, call], at) =>
      defineType({
        type: `nested_${at}`,
        maxAttempts: 1,
        async run(_, ctx) {
          await Promise.all([ctx.step('beside', () => 2), ctx.step('this', () => 3)])
          await ctx.step('outer', async () => {
            await new Promise(setImmediate)
            await call(ctx)
          })
        },
      }),
    )
    await startHere(queue, types)
    const jobs = await queue.holdfast.enqueueMany(types.map((type) => type.job({})))
    for (const [at, [what]] of calls.entries()) {
      const id = jobs[at]?.id as string
      await isNow(queue, id, 'dead')
      const message = `${what} "inner" is called inside of the step "outer"; call it before or after that, or beside it with Promise.all`
      expect((await queue.holdfast.job(id))?.attempts[0]?.error).toMatchObject({ code: 'invalid_option', message })
    }
  })

  test('whose result cannot be stored ends dead, and says which', async () => {
    const { queue, id } = await running((_, ctx) => ctx.step('huge', () => 'x'.repeat(70_000)))
    await isNow(queue, id, 'dead')
    expect((await queue.holdfast.job(id))?.attempts[0]?.error).toMatchObject({ message: expect.stringContaining('step "huge"') })
  })
})

describe('steps that changed under a job', () => {
  const changes: [string, (ctx: RunContext) => Promise<unknown>, RegExp][] = [
    ['a new one before a stored one', (ctx) => ctx.step('new', () => 0), /"new" is new, .* stored step "a"/],
    ['a stored one left out', async (ctx) => [await ctx.step('a', () => 0), await ctx.step('c', () => 0)], /"c" is new, .*"b"/],
    [
      'two in another order',
      async (ctx) => [await ctx.step('b', () => 0), await ctx.step('a', () => 0)],
      /"b" was stored after .*"a"/,
    ],
    ['another kind', (ctx) => ctx.sleep('1h', 'a'), /"a" is called as a sleep and was stored as a step/],
  ]

  test('are an error that names both, and an ordinary failure: the rest is done once the deploy is rolled back', async () => {
    const queue = await makeQueue()
    const types = changes.map(([what, second]) =>
      defineType({
        type: what.replaceAll(' ', '_'),
        backoff,
        async run(_, ctx) {
          if (ctx.job.attempt === 2) return second(ctx)
          await ctx.step('a', () => 1)
          await ctx.step('b', () => 2)
          if (ctx.job.attempt === 1) throw new Error('the first attempt fails')
          return 'went on'
        },
      }),
    )
    await startHere(queue, types)
    const jobs = await queue.holdfast.enqueueMany(types.map((type) => type.job({})))
    for (const [at, [what, , message]] of changes.entries()) {
      const id = jobs[at]?.id as string
      expect(await queue.holdfast.wait(id, { timeout: '60s' }), what).toBe('went on')
      const errors = (await queue.holdfast.job(id))?.attempts.map(({ error }) => error)
      expect(errors?.[1], what).toMatchObject({ code: 'step_changed', message: expect.stringMatching(message) })
    }
  })

  test('are not what parallel branches do that are faster in another order', async () => {
    const pauses = [0, 60, 5]
    const { queue, id } = await running(async (_, ctx) => {
      const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
      const mine = pauses[ctx.job.attempt] ?? 0
      const branch = async (name: string, ms: number) => {
        await pause(ms)
        await ctx.step(`${name}1`, () => pause(ms).then(() => name))
        await pause(ms)
        return ctx.step(`${name}2`, () => name)
      }
      const both = await Promise.all([branch('p', mine), branch('q', 30 - mine / 3)])
      if (ctx.job.attempt < 3) throw new Error('again')
      return both
    })
    expect(await queue.holdfast.wait(id, { timeout: '60s' })).toEqual(['p', 'q'])
    expect((await queue.holdfast.job(id))?.steps).toHaveLength(4)
  })

  test('are not what a handler does that took another way because a step had failed', async () => {
    const { queue, id } = await running(async (_, ctx) => {
      const way = await ctx
        .step('first', () => {
          if (ctx.job.attempt === 1) throw new Error('down')
          return 'first'
        })
        .catch(() => ctx.step('instead', () => 'instead'))
      await ctx.step('then', () => way)
      if (ctx.job.attempt === 1) throw new Error('again')
      return way
    })
    expect(await queue.holdfast.wait(id, { timeout: '60s' })).toBe('first')
  })
})

test('a stale lease cannot write a step', async () => {
  const queue = await makeQueue()
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const errors: unknown[] = []
  const type = defineType({
    type: 'stepped',
    async run(_, ctx) {
      await ctx
        .step('late', async () => {
          await held
          return 'too late'
        })
        .catch((error) => {
          errors.push(error)
          throw error
        })
    },
  })
  await startHere(queue, [type])
  const { id } = await queue.holdfast.enqueue(type, {})
  await isNow(queue, id, 'processing')
  await queue.sql('update holdfast.queue set lease_id = lease_id + 1000')
  letGo()
  await eventually(() => errors.length === 1)
  expect(errors[0]).toMatchObject({ code: 'lease_lost' })
  expect(await queue.sql('select from holdfast.steps')).toEqual([])
})
