import { defineType, Holdfast, type Limits } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue } from '../support/bare-queue.js'
import { blockedOrDone } from '../support/blocked.js'
import { by } from '../support/flow.js'
import { moveClock } from '../support/moving-clock.js'

/** What operators say of limits beside what the code says, and what they say for a time only. */
let queue: BareQueue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 2 })
})

afterEach(async () => {
  await holdfast.close()
  await queue.close()
})

/** What a worker does that starts with this definition. */
const start = (limits?: Limits) =>
  holdfast.registerTypes([defineType({ type: 'mail', ...(limits && { limits }) })], { update: true })
const gate = async () => await holdfast.flow.gate('mail')
const enqueue = (count: number, key?: string) =>
  holdfast.enqueueMany(Array.from({ length: count }, () => ({ type: 'mail', payload: {}, ...(key && { concurrencyKey: key }) })))
const taken = async (limit = 10) => (await queue.client.query(claim(limit), [queue.lane, fromTheHead])).rowCount
const tick = () => queue.client.query(`select next_in_ms from holdfast.tick(10, '-infinity')`)
const auditOf = async (target: string) => (await holdfast.audit({ target })).map(({ actor, action }) => [actor, action])

describe('a limit that an operator set', () => {
  test('counts whatever the code says, field by field, until it is released; both are shown', async () => {
    await start({ maxRunning: 5, rate: { count: 100, per: '1s' }, breaker: { share: 0.5 } })
    await holdfast.flow.limit('mail', { maxRunning: 2, rate: null, breaker: { minimum: 20 } }, by)
    await start({ maxRunning: 9, rate: { count: 50, per: '1m' } })
    expect(await gate()).toMatchObject({ maxRunning: 2, rate: null, breaker: { share: 0.8, minimum: 20 } })
    expect((await gate())?.overrides).toEqual([
      { field: 'breaker', value: { minimum: 20 }, by: 'ada', until: null, code: null },
      { field: 'maxRunning', value: 2, by: 'ada', until: null, code: 9 },
      { field: 'rate', value: null, by: 'ada', until: null, code: { count: 50, perMs: 60_000 } },
    ])
    await holdfast.flow.releaseLimits('mail', by, { fields: ['rate'] })
    expect(await gate()).toMatchObject({ maxRunning: 2, rate: { count: 50, perMs: 60_000 } })
    await holdfast.flow.releaseLimits('mail', by)
    expect(await gate()).toMatchObject({ maxRunning: 9, breaker: { minimum: 10 }, overrides: [] })
    await start()
    expect(await gate()).toMatchObject({ maxRunning: null, rate: null })
    expect(await auditOf('mail')).toEqual([
      ['ada', 'release_limits'],
      ['ada', 'release_limits'],
      ['ada', 'set_limits'],
    ])
  })

  test('for a time counts before one that stands, and is over by the clock of the database, also for a claim before any tick', async () => {
    await start({ maxRunning: 5 })
    await holdfast.flow.limit('mail', { maxRunning: 3 }, by)
    await holdfast.flow.limit('mail', { maxRunning: null }, by, { for: '30m' })
    await holdfast.flow.limit('mail', { rate: { count: 1, per: '1h' } }, by, { for: '2h' })
    expect((await gate())?.overrides).toMatchObject([
      { field: 'maxRunning', value: null, until: expect.any(Date), code: 5 },
      { field: 'maxRunning', value: 3, until: null, code: 5 },
      { field: 'rate', value: { count: 1, perMs: 3_600_000 }, until: expect.any(Date), code: null },
    ])
    await holdfast.flow.releaseLimits('mail', by, { fields: ['rate'] })
    await enqueue(20)
    expect(await taken(2)).toBe(2)
    await moveClock(queue.client, '31 minutes')
    // Two run already, and claims that come now know it.
    expect(await taken(10)).toBe(1)
    expect(await gate()).toMatchObject({ maxRunning: 3, held: 3, overrides: [{ field: 'maxRunning', value: 3, until: null }] })
    expect((await auditOf('mail'))[0]).toEqual(['the clock', 'ended_by_time'])
  })

  test('on a dependency ends for all types that use it', async () => {
    await holdfast.registerTypes([defineType({ type: 'mail', uses: ['smtp'] })], { update: true })
    await holdfast.flow.limitDependency('smtp', { maxRunning: 1 }, by, { for: '30m' })
    await enqueue(5)
    expect([await taken(), await taken()]).toEqual([1, 0])
    await moveClock(queue.client, '31 minutes')
    // Workers tick at that time, because the tick before said so.
    await tick()
    expect(await taken()).toBe(4)
    expect(await holdfast.flow.dependency('smtp')).toMatchObject({ maxRunning: null, overrides: [] })
  })

  test('is refused for a time where it would give waiting jobs another order, and without an end that can be meant', async () => {
    await start()
    await expect(holdfast.flow.limit('mail', { ordered: true }, by, { for: '30m' })).rejects.toThrow(/order of keys/)
    await expect(holdfast.flow.limit('mail', { maxRunning: 1 }, by, { for: '10ms' })).rejects.toThrow(/for is 10ms; it must lie/)
    await expect(holdfast.flow.releaseLimits('mail', by, { fields: ['speed' as never] })).rejects.toThrow(
      /fields names "speed"; there are maxRunning/,
    )
    expect((await gate())?.overrides ?? []).toEqual([])
  })
})

describe('a pause for a time', () => {
  test('of a type is over by the clock of the database: claims take its jobs at once, a tick notes it and says when it comes', async () => {
    await start()
    await holdfast.flow.pauseType('mail', by, { for: '30m' })
    const job = (await enqueue(3))[0]?.id as string
    expect(await taken()).toBe(0)
    const shown = (await gate())?.paused
    expect(shown).toMatchObject({ by: 'ada', until: expect.any(Date) })
    const why = `mail was paused by ada until ${shown?.until?.toISOString()} (a test)`
    expect((await holdfast.explain(job))?.gates[0]).toMatchObject({ gate: 'type_paused', why })
    expect((await tick()).rows[0].next_in_ms).toBeLessThanOrEqual(30 * 60_000)
    await moveClock(queue.client, '31 minutes')
    expect(await gate()).toMatchObject({ paused: null })
    expect(await taken(1)).toBe(1)
    await tick()
    expect((await queue.client.query('select paused_at, ends_at from holdfast.gates')).rows).toEqual([
      { paused_at: null, ends_at: null },
    ])
    expect(await taken()).toBe(2)
  })

  test('gets another end, or none, from whoever pauses again; one without an end is not ended by an earlier one', async () => {
    await start()
    await holdfast.flow.pauseType('mail', by, { for: '30m' })
    await holdfast.flow.pauseType('mail', { by: 'grace' })
    expect((await gate())?.paused).toMatchObject({ by: 'grace', until: null })
    await holdfast.flow.pauseType('mail', by)
    await enqueue(1)
    await moveClock(queue.client, '31 minutes')
    await tick()
    expect((await gate())?.paused).toMatchObject({ by: 'grace', until: null })
    expect(await taken()).toBe(0)
  })

  test('of a key is over for that key alone', async () => {
    await start()
    await holdfast.flow.pauseKey('mail', 'acme', by, { for: '30m' })
    await holdfast.flow.pauseKey('mail', 'globex', by)
    await enqueue(2, 'acme')
    await enqueue(2, 'globex')
    expect(await taken()).toBe(0)
    await moveClock(queue.client, '31 minutes')
    expect(await taken()).toBe(2)
    await tick()
    expect(await holdfast.flow.keys('mail')).toMatchObject([{ key: 'globex', paused: { by: 'ada', until: null } }])
    expect(await auditOf('mail acme')).toEqual([
      ['the clock', 'ended_by_time'],
      ['ada', 'pause_key'],
    ])
    expect(await auditOf('mail globex')).toEqual([['ada', 'pause_key']])
  })
})

describe('a setting of a type', () => {
  const settings = async () => await holdfast.flow.type('mail')
  const define = (definition: object) => holdfast.registerTypes([defineType({ type: 'mail', ...definition })], { update: true })

  test('that an operator set counts whatever definition a worker starts with, until it is released; both are shown', async () => {
    await holdfast.flow.setLane('bulk', {}, by, { create: true })
    await define({ timeout: '1m', priority: 3, backoff: { base: '1s' } })
    await holdfast.flow.defineType('mail', { timeout: '10s', lane: 'bulk', backoff: null }, by)
    await define({ timeout: '2m', priority: 4, lane: 'interactive', backoff: { base: '1s' } })
    expect(await settings()).toMatchObject({ timeoutMs: 10_000, priority: 4, lane: 'bulk', backoff: null })
    expect((await settings())?.overrides).toMatchObject([
      { field: 'backoff', value: null, by: 'ada', until: null, code: expect.anything() },
      { field: 'lane', value: 'bulk', by: 'ada', until: null, code: 'interactive' },
      { field: 'timeout', value: 10_000, by: 'ada', until: null, code: 120_000 },
    ])
    await holdfast.flow.releaseType('mail', by, { fields: ['timeout'] })
    expect(await settings()).toMatchObject({ timeoutMs: 120_000, lane: 'bulk' })
    await holdfast.flow.releaseType('mail', by)
    expect(await settings()).toMatchObject({ lane: 'interactive', overrides: [], backoff: expect.anything() })
    await define({ timeout: '3m' })
    expect(await settings()).toMatchObject({ timeoutMs: 180_000, lane: 'default', backoff: { base: 30_000 } })
  })

  test('that an operator sets while a worker with another definition starts does not lose what that says', async () => {
    await define({ priority: 3, timeout: '1m' })
    await queue.client.query('begin')
    await queue.client.query(
      `select holdfast.define_type('mail', '{"timeout_ms": 10000}', true, holdfast.actor('ada', null, null))`,
    )
    const starting = define({ priority: 4, timeout: '2m' })
    await blockedOrDone(queue.client, starting)
    await queue.client.query('commit')
    await starting
    expect(await settings()).toMatchObject({ timeoutMs: 10_000, priority: 4, overrides: [{ field: 'timeout', code: 120_000 }] })
    await holdfast.flow.releaseType('mail', by)
    expect(await settings()).toMatchObject({ timeoutMs: 120_000, priority: 4, overrides: [] })
  })

  test('of a type that no worker has defined counts when one does', async () => {
    await holdfast.flow.defineType('mail', { maxAttempts: 9 }, by)
    await define({ maxAttempts: 2, priority: 7 })
    expect(await settings()).toMatchObject({
      maxAttempts: 9,
      priority: 7,
      overrides: [{ field: 'maxAttempts', value: 9, code: 2 }],
    })
    await holdfast.flow.releaseType('mail', by)
    expect(await settings()).toMatchObject({ maxAttempts: 2 })
    await holdfast.flow.defineType('mail', { sensitive: true }, by)
    await expect(holdfast.flow.releaseType('mail', by, { guards: false })).rejects.toThrow(/another sensitive, which guards it/)
    await expect(holdfast.flow.releaseType('mial', by)).rejects.toMatchObject({ code: 'unknown_type' })
  })
})

describe('a setting of a lane', () => {
  const lane = async (name: string) => (await holdfast.flow.lanes()).find((one) => one.name === name)
  const seed = (name: string, fields: object) => insideOf(holdfast).store.operate.seedLane(name, JSON.stringify(fields))

  test('comes from the environment of the first worker alone, and an operator counts before that until it is released', async () => {
    expect(await seed('bulk', { slots: 4, poll_ms: 500 })).toEqual([])
    await holdfast.flow.setLane('bulk', { slots: 9 }, by)
    expect(await seed('bulk', { slots: 7, poll_ms: 500 })).toEqual(['slots'])
    expect(await lane('bulk')).toMatchObject({ slots: 9, overrides: [{ field: 'slots', value: 9, by: 'ada', code: 4 }] })
    await holdfast.flow.releaseLane('bulk', by, { fields: ['slots'] })
    expect(await lane('bulk')).toMatchObject({ slots: 4, pollMs: 500, overrides: [] })
    await holdfast.flow.setLane('interactive', { slots: null }, by)
    await holdfast.flow.releaseLane('interactive', by)
    expect(await lane('interactive')).toMatchObject({ slots: 2, overrides: [] })
  })

  test('and a drain for a time are over by the clock of the database; a tick says when it comes', async () => {
    await start()
    await holdfast.flow.drainLane('default', by, { for: '30m' })
    await holdfast.flow.setLane('default', { slots: 1 }, by, { for: '2h' })
    const job = (await enqueue(3))[0]?.id as string
    expect(await taken()).toBe(0)
    expect((await holdfast.explain(job))?.gates[0]).toMatchObject({ gate: 'lane_drained', opensInMs: expect.any(Number) })
    expect((await tick()).rows[0].next_in_ms).toBeLessThanOrEqual(30 * 60_000)
    await moveClock(queue.client, '31 minutes')
    await tick()
    expect([await taken(), await taken()]).toEqual([1, 0])
    await moveClock(queue.client, '121 minutes')
    await tick()
    expect(await taken()).toBe(2)
    expect(await lane('default')).toMatchObject({ enabled: true, slots: null, overrides: [] })
    await expect(holdfast.flow.setLane('default', { slots: null }, by, { for: '1h' })).rejects.toThrow(/taken away for a time/)
  })
})
