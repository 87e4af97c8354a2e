import { rmSync, writeFileSync } from 'node:fs'
import { defineType, type RunContext } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const ada = { by: 'ada', why: 'tested' }
/** A failed attempt waits until somebody says so. */
const backoff = { base: '1h', cap: '1h', jitter: 0 } as const
type Handler = (ctx: RunContext) => Promise<unknown>
const a: Handler = (ctx) => ctx.step('a', () => 1)
const c: Handler = (ctx) => ctx.step('c', () => 3)
const inTurn =
  (...parts: Handler[]): Handler =>
  async (ctx) => {
    for (const part of parts) await part(ctx)
    return 'done'
  }

const statusOf = async ({ holdfast }: Queue, id: string) => (await holdfast.job(id))?.status
const lastError = async ({ holdfast }: Queue, id: string) => (await holdfast.job(id))?.attempts.at(-1)?.error

/** Ends the wait that a job stands in, so that its next attempt begins. */
async function wake({ holdfast }: Queue, id: string, wait: string): Promise<void> {
  if (wait === 'sleep') await holdfast.runNow(id, ada)
  else await holdfast.signal(id, 'go', { from: 'ada' })
}

const waits: [string, string, Handler, Handler][] = [
  ['sleep', 'scheduled', (ctx) => ctx.sleep('1h'), (ctx) => ctx.sleep('1h', 'nap')],
  ['go', 'blocked', (ctx) => ctx.waitFor('go'), (ctx) => ctx.waitFor('went')],
]

describe.each(waits)('a job that stands in "%s", whose handler was changed meanwhile,', (name, status, wait, renamed) => {
  const changes: [string, Handler, RegExp][] = [
    ['renamed', inTurn(a, renamed, c), new RegExp(`"(nap|went)" is new, .* stored step "${name}"`)],
    ['with another before it', inTurn(a, c, wait), new RegExp(`"c" is new, .* stored step "${name}"`)],
    ['before what it was behind', inTurn(wait, a, c), new RegExp(`"${name}" was stored after .* "a"`)],
    ['behind a renamed step', inTurn((ctx) => ctx.step('b', () => 1), wait, c), /"b" is new, .* stored step "a"/],
    ['left out', inTurn(a, c), new RegExp(`"c" is new, .* stored step "${name}"`)],
    ['left out at the end', inTurn(a), new RegExp(`"${name}" is a .* stood in, and this attempt ended behind "a"`)],
    ['left out with all steps', inTurn(), new RegExp(`"${name}" is a .* stood in, and this attempt ended without any step`)],
    [
      'left out before completeWith',
      (ctx) => a(ctx).then(() => ctx.completeWith(async () => 'written')),
      new RegExp(`"${name}" is a .* stood in, and this attempt ended behind "a"`),
    ],
    [
      'left out for completeWith alone',
      (ctx) => ctx.completeWith(async () => 'written'),
      new RegExp(`"${name}" .* without any step`),
    ],
  ]

  test('fails with an error that names both, and goes on once the deploy is rolled back', async () => {
    const queue = await makeQueue()
    let deployed: 'before' | 'after' = 'before'
    const before = inTurn(a, wait, c)
    const types = changes.map(([, after], n) =>
      defineType({ type: `case_${n}`, backoff, run: (_, ctx) => (deployed === 'before' ? before : after)(ctx) }),
    )
    await startHere(queue, types)
    const ids = (await queue.holdfast.enqueueMany(types.map((type) => type.job({})))).map(({ id }) => id)
    for (const id of ids) await eventually(async () => (await statusOf(queue, id)) === status)
    deployed = 'after'
    for (const id of ids) await wake(queue, id, name)
    for (const [n, [what, , message]] of changes.entries()) {
      const id = ids[n] as string
      await eventually(async () => !['scheduled', 'blocked', 'pending', 'processing'].includes((await statusOf(queue, id)) ?? ''))
      expect(await statusOf(queue, id), what).toBe('failed')
      expect(await lastError(queue, id), what).toMatchObject({ code: 'step_changed', message: expect.stringMatching(message) })
    }
    deployed = 'before'
    for (const id of ids) await queue.holdfast.runNow(id, ada)
    for (const [n, id] of ids.entries()) expect(await queue.holdfast.wait(id), changes[n]?.[0]).toBe('done')
    const story = await queue.holdfast.job(ids[0] as string)
    expect(story?.steps.map((step) => step.name)).toEqual(['a', name, 'c'])
  })
})

test('a handler in a thread that has lost its sleep fails too, and goes on once it has it again', async () => {
  const queue = await makeQueue()
  await startHere(queue, new URL('../support/step-handlers.mjs', import.meta.url))
  const file = queue.ledger.beside('changed')
  const { id } = await queue.holdfast.enqueue('steps_changed', { file })
  await eventually(async () => (await statusOf(queue, id)) === 'scheduled')
  writeFileSync(file, '')
  await queue.holdfast.runNow(id, ada)
  await eventually(async () => (await statusOf(queue, id)) === 'failed')
  expect(await lastError(queue, id)).toMatchObject({ code: 'step_changed', message: expect.stringContaining('"sleep"') })
  rmSync(file)
  await queue.holdfast.runNow(id, ada)
  expect(await queue.holdfast.wait(id)).toBe('awake')
})

describe('is no changed handler', () => {
  test('one that a step failed in, and that does not sleep once it succeeds', async () => {
    const queue = await makeQueue()
    let down = true
    const run: Handler = async (ctx) => {
      try {
        return await ctx.step('try', () => {
          if (down) throw new Error('down')
          return 'tried'
        })
      } catch {
        await ctx.sleep('1h')
        return 'slept'
      }
    }
    const type = defineType({ type: 'tries', backoff, run: (_, ctx) => run(ctx) })
    await startHere(queue, [type])
    const { id } = await queue.holdfast.enqueue(type, {})
    await eventually(async () => (await statusOf(queue, id)) === 'scheduled')
    down = false
    await queue.holdfast.runNow(id, ada)
    expect(await queue.holdfast.wait(id)).toBe('tried')
  })

  test('one that waits for whichever comes first', async () => {
    const queue = await makeQueue()
    const race: Handler = (ctx) => Promise.race([ctx.waitFor('go'), ctx.sleep('1h').then(() => 'too late')])
    const type = defineType({ type: 'races', backoff, run: (_, ctx) => race(ctx) })
    await startHere(queue, [type])
    const { id } = await queue.holdfast.enqueue(type, {})
    await eventually(async () => (await statusOf(queue, id)) === 'blocked')
    await queue.holdfast.signal(id, 'go', 'went')
    expect(await queue.holdfast.wait(id)).toBe('went')
  })
})
