import { defineType, Holdfast } from 'holdfast'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BareQueue, claim, fromTheHead, makeBareQueue, settleRunning } from '../support/bare-queue.js'
import { blockedOrDone } from '../support/blocked.js'
import { by } from '../support/flow.js'
import { moveClock } from '../support/moving-clock.js'
import { costOf } from '../support/plans.js'

/** What types share that use one dependency, claim by claim. */
let queue: BareQueue
let holdfast: Holdfast
const uses = ['stripe']
const charge = defineType({ type: 'charge', uses })
const refund = defineType({ type: 'refund', uses })

beforeEach(async () => {
  queue = await makeBareQueue()
  holdfast = new Holdfast({ connectionString: queue.url, connections: 2 })
  await holdfast.registerTypes([charge, refund], { update: true })
})

afterEach(async () => {
  expect((await queue.client.query('select * from holdfast.find_drift()')).rows).toEqual([])
  await holdfast.close()
  await queue.close()
})

const some = (count: number) =>
  holdfast.enqueueMany(Array.from({ length: count }, (_, n) => [charge, refund][n % 2]?.job({}) as never))
const take = async (limit: number, client: pg.Client = queue.client): Promise<string[]> =>
  (await client.query(claim(limit), [queue.lane, fromTheHead])).rows.map((row) => row.job_id)
/** The first claim after a type got its gate puts those before it that stood in the queue. */
const takeAll = async (limit: number): Promise<string[]> => {
  const taken = [...(await take(limit)), ...(await take(limit))]
  for (let more = await take(limit); more.length > 0; more = await take(limit)) taken.push(...more)
  return taken
}
const settle = (failed = false, type = '%', client: pg.Client = queue.client) => settleRunning(client, failed, type)
const running = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await queue.client.query(
        'select t.name, count(*)::integer as n from holdfast.queue as q join holdfast.types as t on t.id = q.type_id where lease_id is not null group by 1',
      )
    ).rows.map(({ name, n }) => [name, n]),
  )
const waiting = async (type: string): Promise<string> =>
  (
    await queue.client.query(
      'select job_id from holdfast.queue as q join holdfast.types as t on t.id = q.type_id where t.name = $1 and lease_id is null limit 1',
      [type],
    )
  ).rows[0].job_id
const state = () => holdfast.flow.dependency('stripe')

describe('a limit', () => {
  test('holds for all types together, in one claim and in several at once, and what ends makes room for either', async () => {
    await holdfast.flow.limitDependency('stripe', { maxRunning: 5 }, by)
    await some(40)
    const claimers = [await queue.connect(), await queue.connect(), await queue.connect()]
    expect((await Promise.all(claimers.map((claimer) => take(4, claimer)))).flat()).toHaveLength(5)
    expect(await take(10)).toEqual([])
    expect(await state()).toMatchObject({ held: 5, types: ['charge', 'refund'], maxRunning: 5 })
    await settle(false, 'charge')
    const left = Object.values(await running()).reduce((sum, n) => sum + n, 0)
    expect(await take(10)).toHaveLength(5 - left)
    await settle()
    expect(await take(30)).toHaveLength(5)
  })

  test('holds for claims of different types that are under way at the same time', async () => {
    await holdfast.flow.limitDependency('stripe', { maxRunning: 5, rate: { count: 7, per: '1h' } }, by)
    await some(40)
    const of = (type: string) => `select unnest(ids) as job_id from holdfast.claim_jobs(1, $1::smallint,
      array(select id from holdfast.types where name = '${type}'), 4, 60000, $2::bigint[])`
    const [first, second] = [await queue.connect(), await queue.connect()]
    await first.query('begin')
    expect((await first.query(of('charge'), [queue.lane, fromTheHead])).rowCount).toBe(4)
    const other = second.query(of('refund'), [queue.lane, fromTheHead])
    await blockedOrDone(first, other)
    await first.query('commit')
    expect((await other).rowCount).toBe(1)
    await settle()
    expect((await second.query(of('refund'), [queue.lane, fromTheHead])).rowCount).toBe(2)
  })

  test('that a type has by itself holds beside it, and so does a second dependency', async () => {
    const both = defineType({ type: 'refund', uses: ['stripe', 'ledger'], limits: { maxRunning: 4 } })
    await holdfast.registerTypes([both], { update: true })
    expect((await holdfast.flow.gate('refund'))?.uses).toEqual(['ledger', 'stripe'])
    await holdfast.flow.limitDependency('stripe', { maxRunning: 7 }, by)
    await holdfast.flow.limitDependency('ledger', { maxRunning: 2 }, by)
    await some(40)
    await takeAll(4)
    expect(await running()).toEqual({ charge: 5, refund: 2 })
    await holdfast.flow.limitDependency('ledger', { maxRunning: null }, by)
    await settle(false, 'charge')
    await takeAll(4)
    expect((await running()).refund).toBeLessThanOrEqual(4)
    expect((await state()).held).toBe(7)
  })

  test('counts what runs already, also while a claim is under way; a smaller one lets nothing start until fewer run', async () => {
    await some(20)
    const claimer = await queue.connect()
    await claimer.query('begin')
    expect(await take(6, claimer)).toHaveLength(6)
    const set = holdfast.flow.limitDependency('stripe', { maxRunning: 8 }, by)
    await blockedOrDone(claimer, set)
    await claimer.query('commit')
    await set
    expect(await takeAll(10)).toHaveLength(2)
    await holdfast.flow.limitDependency('stripe', { maxRunning: 3 }, by)
    const perType = await running()
    await settle(false, 'charge')
    const left = perType.refund as number
    expect(await takeAll(10)).toHaveLength(Math.max(0, 3 - left))
  })

  test('follows a change of uses while jobs run: none is counted twice, and no slot stays taken', async () => {
    await holdfast.flow.limitDependency('stripe', { maxRunning: 4 }, by)
    await some(40)
    expect(await take(10)).toHaveLength(4)
    const { refund: refunds = 0 } = await running()
    expect(refunds).toBeGreaterThan(0)
    await holdfast.registerTypes([defineType({ type: 'refund' })], { update: true })
    expect((await state()).held).toBe(4 - refunds)
    await takeAll(30)
    const { charge: charges = 0 } = await running()
    expect(charges).toBe(4)
    expect((await running()).refund).toBe(20)
    await holdfast.registerTypes([refund], { update: true })
    expect((await state()).held).toBe(24)
    expect(await take(30)).toEqual([])
    await settle()
    expect(await state()).toMatchObject({ held: 0 })
    expect(await take(30)).toHaveLength(4)
    await settle()
    await holdfast.registerTypes([defineType({ type: 'refund' }), defineType({ type: 'charge' })], { update: true })
    await takeAll(30)
    await settle()
    await queue.client.query('select holdfast.look_at_gates(null)')
    expect((await queue.client.query('select name from holdfast.types where gated')).rows).toEqual([])
  })
})

describe('a rate', () => {
  const rate = { count: 6, per: '10s' } as const

  test('is shared by all types, in one claim and in several', async () => {
    await holdfast.flow.limitDependency('stripe', { rate }, by)
    await some(40)
    expect(await take(4)).toHaveLength(4)
    expect(await take(30)).toHaveLength(2)
    await settle()
    expect(await take(30)).toEqual([])
    expect((await holdfast.explain(await waiting('refund')))?.gates[0]).toMatchObject({
      gate: 'dependency_rate',
      why: 'types that use stripe may start 6 jobs in 10s, and that many have or are about to',
      opensInMs: expect.any(Number),
    })
    await moveClock(queue.client, '11 seconds')
    expect(await take(30)).toHaveLength(6)
    // A clock that was set back lets it go on after the time of the rate, and forgets no start.
    await moveClock(queue.client, '-1 hour')
    await queue.client.query('select holdfast.look_at_gates(null)')
    expect(await take(30)).toEqual([])
  })

  test('remembers the starts of a type that no longer uses it', async () => {
    await holdfast.flow.limitDependency('stripe', { rate }, by)
    await holdfast.enqueueMany(Array.from({ length: 6 }, () => refund.job({})))
    expect(await take(10)).toHaveLength(6)
    await holdfast.registerTypes([defineType({ type: 'refund' })], { update: true })
    await holdfast.enqueue(charge, {})
    expect(await take(10)).toEqual([])
  })
})

describe('a breaker', () => {
  test('that the failures of one type open holds the other too; one probe goes through for both, and its success frees both', async () => {
    await holdfast.flow.limit('charge', { breaker: false }, by)
    await holdfast.flow.limitDependency('stripe', { breaker: { probe: '30s' } }, by)
    await holdfast.enqueueMany(Array.from({ length: 12 }, () => charge.job({})))
    expect(await take(12)).toHaveLength(12)
    await settle(true)
    expect((await state()).breaker).toMatchObject({ open: true, reason: '12 of 12 attempts failed' })
    expect((await holdfast.flow.gate('charge'))?.breaker.open).toBe(false)
    await some(10)
    expect(await take(10)).toEqual([])
    expect((await holdfast.explain(await waiting('refund')))?.gates[0]).toMatchObject({
      gate: 'dependency_breaker',
      why: 'the breaker of stripe, which refund uses, is open: 12 of 12 attempts failed',
    })
    await moveClock(queue.client, '31 seconds')
    expect(await take(10)).toHaveLength(1)
    expect(await take(10)).toEqual([])
    await settle(true)
    expect((await state()).breaker.open).toBe(true)
    await moveClock(queue.client, '62 seconds')
    expect(await take(10)).toHaveLength(1)
    await settle()
    expect((await state()).breaker).toMatchObject({ open: false, reason: 'a probe succeeded' })
    expect(await take(10)).toHaveLength(8)
  })

  test('counts workers that died, and a settle that opens it beside claims and a change of its limits ends without a deadlock', async () => {
    await holdfast.flow.limitDependency('stripe', { breaker: { minimum: 1 }, maxRunning: 50 }, by)
    await some(30)
    expect(await take(20)).toHaveLength(20)
    const [settler, claimer] = [await queue.connect(), await queue.connect()]
    await settler.query('begin')
    await settle(true, 'charge', settler)
    const claimed = take(4, claimer)
    const changed = holdfast.flow.limitDependency('stripe', { maxRunning: 40 }, by)
    await blockedOrDone(settler, claimed)
    await settler.query('commit')
    await Promise.all([claimed, changed])
    expect((await state()).breaker.open).toBe(true)
    await holdfast.flow.dependencyBreaker('stripe', 'close', by)
    await moveClock(queue.client, '1 hour')
    await queue.client.query('select holdfast.rescue_leases(100, 1000)')
    expect((await state()).breaker.open).toBe(true)
  })
})

test('operators pause, resume, hold and release it while claims are under way; the audit log and explain name it; an unknown one is refused', async () => {
  await some(20)
  const claimer = await queue.connect()
  await claimer.query('begin')
  expect(await take(4, claimer)).toHaveLength(4)
  const paused = holdfast.flow.pauseDependency('stripe', { by: 'ada', why: 'their status page is red' })
  await blockedOrDone(claimer, paused)
  await claimer.query('commit')
  await paused
  expect(await take(10)).toEqual([])
  expect((await holdfast.explain(await waiting('refund')))?.gates[0]).toMatchObject({
    gate: 'dependency_paused',
    why: 'stripe, which refund uses, was paused by ada (their status page is red)',
    opens: 'resuming stripe',
  })
  await holdfast.flow.resumeDependency('stripe', by)
  await holdfast.flow.dependencyBreaker('stripe', 'hold_open', by)
  expect(await take(10)).toEqual([])
  await holdfast.flow.dependencyBreaker('stripe', 'release', by)
  await holdfast.flow.limitDependency('stripe', { maxRunning: 6 }, by)
  expect(await takeAll(10)).toHaveLength(2)
  const [gate] = (await holdfast.explain(await waiting('refund')))?.gates ?? []
  expect(gate?.why).toBe('6 of at most 6 jobs that use stripe are running (set by ada; the code says nothing)')
  expect(gate?.heldBy).toHaveLength(5)
  const { rows } = await queue.client.query(
    "select action, target, after from holdfast.audit_log where target = 'stripe' order by id",
  )
  const actions = [
    'pause_dependency',
    'resume_dependency',
    'dependency_breaker_hold_open',
    'dependency_breaker_release',
    'limit_dependency',
  ]
  expect(rows.map(({ action }) => action)).toEqual(actions)
  expect(rows[4].after).toMatchObject({ max_running: 6 })
  await expect(holdfast.flow.pauseDependency('strpie', by)).rejects.toMatchObject({
    code: 'unknown_dependency',
    message: expect.stringContaining('"stripe"'),
  })
  await expect(holdfast.flow.limitDependency('stripe', { fair: true } as never, by)).rejects.toMatchObject({
    code: 'invalid_option',
  })
  await holdfast.flow.limitDependency('ledger', { maxRunning: 1 }, by, { create: true })
  expect((await holdfast.flow.dependencies()).map(({ name }) => name)).toEqual(['ledger', 'stripe'])
})

test('types that use what nothing holds back stand in the queue like others; a job behind a limit writes little more', async () => {
  const gated = 'select from holdfast.types where gated'
  expect((await queue.client.query(gated)).rowCount).toBe(0)
  const cost = async () => {
    await some(500)
    const { wal, pageImages } = await costOf(
      queue.client,
      'select lease from holdfast.claim_jobs(1, $1::smallint, null, 500, 60000, $2::bigint[])',
      [queue.lane, fromTheHead],
    )
    await settle()
    return pageImages > 0 ? undefined : wal / 500
  }
  const least = async () => {
    const costs: number[] = []
    while (costs.length < 2) costs.push(...[await cost()].filter((one) => one !== undefined))
    return Math.min(...costs)
  }
  const free = await least()
  await holdfast.flow.limitDependency('stripe', { maxRunning: 100_000, rate: { count: 1_000_000, per: '1s' } }, by)
  expect(await least()).toBeLessThan(free + 80)
  await holdfast.flow.limitDependency('stripe', { maxRunning: null, rate: null }, by)
  await queue.client.query('select holdfast.look_at_gates(null)')
  expect((await queue.client.query(gated)).rowCount).toBe(0)
})
