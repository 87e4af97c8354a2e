import { defineDependency, defineType, Holdfast } from 'holdfast'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { blockedOrDone } from '../support/blocked.js'
import { by } from '../support/flow.js'

/** Limits of a dependency that stand in code, beside what operators set. */
let queue: BareQueue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 3 })
})

afterEach(async () => {
  await holdfast.close()
  await queue.close()
})

type Limits = Parameters<typeof defineDependency>[0]['limits']
/** What a worker does that starts with this definition. */
const start = (limits: Limits, type = 'charge') =>
  holdfast.registerTypes([defineType({ type, uses: [defineDependency({ name: 'stripe', ...(limits && { limits }) })] })], {
    update: true,
  })
const state = () => holdfast.flow.dependency('stripe')

test('limits of a dependency stand in code; what an operator set counts until it is released, and the audit log says what changed', async () => {
  await start({ maxRunning: 5, rate: { count: 100, per: '1s' }, breaker: { minimum: 3 } })
  expect(await state()).toMatchObject({
    maxRunning: 5,
    rate: { count: 100, perMs: 1_000 },
    breaker: { minimum: 3 },
    types: ['charge'],
  })
  await holdfast.flow.limitDependency('stripe', { maxRunning: 2, rate: null }, by)
  await start({ maxRunning: 5, rate: { count: 100, per: '1s' }, breaker: { minimum: 3 } }, 'refund')
  await holdfast.registerTypes([defineType({ type: 'report', uses: ['stripe'] })], { update: true })
  expect(await state()).toMatchObject({ maxRunning: 2, rate: null, types: ['charge', 'refund', 'report'] })
  await start({ maxRunning: 7 })
  expect(await state()).toMatchObject({
    ...{ maxRunning: 2, rate: null, breaker: { minimum: 10 } },
    overrides: [
      { field: 'maxRunning', value: 2, by: by.by, until: null, code: 7 },
      { field: 'rate', value: null, by: by.by, until: null, code: null },
    ],
  })
  await holdfast.flow.releaseDependency('stripe', by)
  expect(await state()).toMatchObject({ maxRunning: 7, rate: null, overrides: [] })
  await start(undefined)
  expect(await state()).toMatchObject({ maxRunning: null, rate: null })
  const lines = (await holdfast.audit({ target: 'stripe' })).map(({ actor, action, before, after }) => [
    actor,
    action,
    before,
    after,
  ])
  expect(lines.reverse()).toMatchObject([
    ['the definition', 'limit_dependency', { max_running: null }, { max_running: 5 }],
    [by.by, 'limit_dependency', { max_running: 5 }, { max_running: 2 }],
    ['the definition', 'limit_dependency', { breaker_minimum: 3 }, { breaker_minimum: 10 }],
    [by.by, 'release_dependency', { max_running: 2 }, { max_running: 7 }],
    ['the definition', 'limit_dependency', { max_running: 7 }, { max_running: null }],
  ])
})

test('workers that start at once with a definition wait for the claims under way, and what runs counts from then on', async () => {
  const plain = defineType({ type: 'charge', uses: ['stripe'] })
  await holdfast.registerTypes([plain], { update: true })
  await holdfast.enqueueMany(Array.from({ length: 10 }, () => plain.job({})))
  const claimer = await queue.connect()
  await claimer.query('begin')
  expect((await claimer.query(claim(4), [queue.lane, fromTheHead])).rowCount).toBe(4)
  const started = Promise.all(['charge', 'refund', 'report'].map((type) => start({ maxRunning: 5 }, type)))
  await blockedOrDone(claimer, started)
  await claimer.query('commit')
  await started
  // The first claim behind a new gate puts those before it that stand in the queue.
  const taken = [
    await queue.client.query(claim(10), [queue.lane, fromTheHead]),
    await queue.client.query(claim(10), [queue.lane, fromTheHead]),
  ]
  expect(taken.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)).toBe(1)
  expect(await state()).toMatchObject({ held: 5, maxRunning: 5, types: ['charge', 'refund', 'report'] })
})

test('a definition that cannot be meant is refused where it stands, and changes nothing', async () => {
  expect(() => defineDependency({ name: 'no spaces' })).toThrow(/name is "no spaces"; the name of a dependency has/)
  expect(() => defineDependency({ name: 'stripe', limits: { fair: true } as never })).toThrow(/fair is not known/)
  expect(() => defineType({ type: 'charge', uses: [{ name: 'stripe', limits: { maxRunning: 0 } }] })).toThrow(/maxRunning is 0/)
  const types = [1, 2].map((maxRunning) =>
    defineType({ type: `t${maxRunning}`, uses: [{ name: 'stripe', limits: { maxRunning } }] }),
  )
  await expect(holdfast.registerTypes(types, { update: true })).rejects.toMatchObject({
    code: 'invalid_option',
    message: expect.stringContaining('uses of t2 and of t1 have definitions of stripe that differ'),
  })
  expect(await holdfast.flow.dependencies()).toEqual([])
})
