import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { describe, expect, test } from 'vitest'
import { setUp, who } from '../support/alerting.js'
import { eventually } from '../support/facts.js'
import { readMeasured, scrape } from '../support/measured.js'
import { isSigned, startReceiver } from '../support/receiver.js'

const nothing = { durations: [], waits: [], late: [], duties: [], fleet: [] }

describe('an alert', () => {
  test('is sent when trouble begins and when it is over, once each, signed so that the receiver can check it', async () => {
    const receiver = await startReceiver()
    const { alerts, die } = await setUp([receiver.host])
    const { secret } = await alerts.addTarget({ url: receiver.url }, who)
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    await alerts.setRule('dead-letters', { hold: 0 }, who)
    expect(await alerts.look()).toEqual([])
    await die(2)
    expect(await alerts.look()).toEqual([{ state: 'firing', rule: 'dead-letters', subject: 'failing', value: 2 }])
    // It goes on, and that is no news.
    await die(3)
    expect(await alerts.look()).toEqual([])
    expect(await alerts.firing()).toMatchObject([{ rule: 'dead-letters', kind: 'dead_letters', subject: 'failing', value: 5 }])
    expect(await alerts.look()).toEqual([{ state: 'resolved', rule: 'dead-letters', subject: 'failing', value: 5 }])
    expect(await alerts.look()).toEqual([])
    expect(await alerts.firing()).toEqual([])
    await eventually(() => receiver.received.length === 2)
    const [began, over] = receiver.received.sort((a, b) => a.message.timestamp.localeCompare(b.message.timestamp))
    expect(began?.message).toMatchObject({
      type: 'alert.firing',
      data: {
        rule: 'dead-letters',
        kind: 'dead_letters',
        subject: 'failing',
        value: 2,
        summary: '2 jobs of failing ended dead.',
      },
    })
    // Nobody died any more, and those who did lie there all the same.
    const summary = 'No more jobs of failing end dead. 5 dead letters of it wait until somebody replays or discards them.'
    expect(over?.message).toMatchObject({ type: 'alert.resolved', data: { summary } })
    for (const one of receiver.received) {
      expect(isSigned(one, secret)).toBe(true)
      expect(isSigned({ ...one, body: `${one.body} ` }, secret)).toBe(false)
    }
    expect(began?.id).not.toBe(over?.id)
  })

  test('about dead letters is over for one who put them away, and for one who switched the rule off, and says which', async () => {
    const receiver = await startReceiver()
    const { alerts, holdfast, die } = await setUp([receiver.host])
    await alerts.addTarget({ url: receiver.url }, who)
    await alerts.setRule('dead-letters', { hold: 0, enabled: true }, who)
    const ends = async (count: number) => {
      await alerts.look()
      return eventually(() => {
        const over = receiver.received.filter(({ message }) => message.type === 'alert.resolved')
        return over.length === count && over.map(({ message }) => message.data.summary).at(-1)
      })
    }
    await die()
    await alerts.look()
    await holdfast.deadLetters.discardMany({ all: true }, who)
    expect(await ends(1)).toBe('No more jobs of failing end dead. None of its dead letters are left.')
    await die()
    await alerts.look()
    await alerts.setRule('dead-letters', { enabled: false }, who)
    expect(await ends(2)).toBe(
      'The rule dead-letters was disabled, so it no longer watches failing. ' +
        'One dead letter of it waits until somebody replays or discards it.',
    )
  })

  test('is sent once however many look at the same time', async () => {
    const receiver = await startReceiver()
    const { alerts, holdfast, die, calls } = await setUp([receiver.host])
    await alerts.addTarget({ url: receiver.url }, who)
    await die()
    const looks = await Promise.all(Array.from({ length: 8 }, () => holdfast.alerts.look()))
    expect(looks.flat()).toHaveLength(1)
    expect(await calls()).toHaveLength(1)
  })

  test('is about dead letters, open breakers, depth, age and refused enqueues, of one type or priority where the rule says so', async () => {
    const { alerts, holdfast, sql } = await setUp()
    await holdfast.registerTypes([defineType({ type: 'nobody_runs' }), defineType({ type: 'other' })])
    await alerts.setRule('depth', { threshold: 4, for: 0, hold: 0 }, who)
    await alerts.setRule('one-type', { kind: 'depth', type: 'nobody_runs', threshold: 2, hold: 0 }, who)
    await alerts.setRule('enqueue-errors', { threshold: 1, hold: 0 }, who)
    await alerts.setRule('oldest', { enabled: false }, who)
    await alerts.setRule('oldest-urgent', { hold: 0 }, who)
    await holdfast.enqueueMany(Array.from({ length: 3 }, () => ({ type: 'nobody_runs', payload: {}, priority: 8 })))
    await holdfast.enqueueMany(Array.from({ length: 3 }, () => ({ type: 'other', payload: {}, priority: 2 })))
    await sql(`update holdfast.queue set ready_at = ready_at - interval '2 minutes'`)
    await holdfast.flow.breaker('other', 'open', who)
    const id = '018f0000-0000-7000-8000-000000000009'
    // Who is not let in at all is no producer in trouble.
    const refusals = [401, 403, 429].map((status) => ({ status, count: 2 }))
    await insideOf(holdfast).store.metrics.note({ id, ...nothing, refusals })
    const counted = () => sql('select sum(waiting)::int as waiting from holdfast.depths')
    await eventually(async () => {
      await insideOf(holdfast).store.operate.measureDepths()
      return (await counted())[0]?.waiting === 6
    })
    const found = (await alerts.look()).map(({ state, rule, subject }) => `${state} ${rule} ${subject}`.trim())
    expect(found.sort()).toEqual([
      'firing breaker-open other',
      'firing depth',
      'firing enqueue-errors',
      'firing oldest-urgent priority 8',
      'firing one-type nobody_runs',
    ])
    await holdfast.cancelMany({ all: true }, who)
    await holdfast.flow.breaker('other', 'close', who)
    await eventually(async () => {
      await insideOf(holdfast).store.operate.measureDepths()
      return (await sql('select from holdfast.depths')).length === 0
    })
    expect((await alerts.look()).map(({ state, rule }) => `${state} ${rule}`).sort()).toEqual([
      'resolved breaker-open',
      'resolved depth',
      'resolved enqueue-errors',
      'resolved oldest-urgent',
      'resolved one-type',
    ])
  })

  test('is about the open breaker of a dependency, of any, or of one that the type of the rule uses', async () => {
    const receiver = await startReceiver()
    const { alerts, holdfast } = await setUp([receiver.host])
    await alerts.addTarget({ url: receiver.url }, who)
    const types = [defineType({ type: 'charge', uses: ['stripe'] }), defineType({ type: 'other', uses: ['ledger'] })]
    await holdfast.registerTypes(types, { update: true })
    for (const { type } of types) await alerts.setRule(`of-${type}`, { kind: 'breaker', type, hold: 0 }, who)
    await holdfast.flow.dependencyBreaker('stripe', 'open', who)
    const found = (await alerts.look()).map(({ state, rule, subject }) => `${state} ${rule} ${subject}`)
    expect(found.sort()).toEqual(['firing breaker-open the dependency stripe', 'firing of-charge the dependency stripe'])
    await holdfast.flow.dependencyBreaker('stripe', 'close', who)
    expect((await alerts.look()).map(({ state, rule }) => `${state} ${rule}`).sort()).toEqual([
      'resolved breaker-open',
      'resolved of-charge',
    ])
    await eventually(() => receiver.received.length === 4)
    const summaries = receiver.received.map(({ message }) => message.data.summary)
    expect([...new Set(summaries)].sort()).toEqual([
      'It is over: breaker-open of the dependency stripe.',
      'It is over: of-charge of the dependency stripe.',
      'The breaker of the dependency stripe is open: most of its attempts failed.',
    ])
  })

  test('is about a table that has no partition for today or tomorrow, until it has, and so is a metric', async () => {
    const { alerts, holdfast, stopUpkeep } = await setUp()
    await stopUpkeep()
    await alerts.setRule('missing-partitions', { hold: 0 }, who)
    expect(await alerts.look()).toEqual([])
    await insideOf(holdfast).store.moveClock({ byMs: 30 * 86_400_000 })
    const tables = ['bodies', 'dead_letters', 'events', 'history', 'log_lines', 'results']
    const found = (await alerts.look()).sort((a, b) => a.subject.localeCompare(b.subject))
    expect(found).toEqual(tables.map((subject) => ({ state: 'firing', rule: 'missing-partitions', subject, value: 2 })))
    const missing = async () => {
      const measured = readMeasured(await scrape(holdfast))
      return tables.map((table) => measured.get(`holdfast_missing_partitions{table="${table}"}`))
    }
    expect(await missing()).toEqual(tables.map(() => 2))
    await insideOf(holdfast).store.partitions.make()
    expect((await alerts.look()).map(({ state, rule }) => `${state} ${rule}`)).toEqual(
      tables.map(() => 'resolved missing-partitions'),
    )
    expect(await missing()).toEqual(tables.map(() => 0))
  })

  test('is about slots that upkeep found without a job and freed, and so is a metric', async () => {
    const { alerts, holdfast, sql, stopUpkeep } = await setUp()
    await stopUpkeep()
    const repairs = async () => readMeasured(await scrape(holdfast)).get('holdfast_drift_repairs_total{what="lane_slot_left"}')
    expect(await alerts.look()).toEqual([])
    expect(await repairs()).toBe(0)
    await sql(`insert into holdfast.lane_slots select gen_random_uuid(), id from holdfast.lanes where name = 'interactive'`)
    expect(await insideOf(holdfast).store.operate.repairDrift(0, 100)).toEqual([{ what: 'lane_slot_left', repaired: 1 }])
    expect(await sql('select from holdfast.lane_slots')).toEqual([])
    expect(await alerts.look()).toEqual([{ state: 'firing', rule: 'drift', subject: '', value: 1 }])
    expect(await repairs()).toBe(1)
  })

  test('goes to those who want to hear of its rule', async () => {
    const receiver = await startReceiver()
    const { alerts, die, callThatIs } = await setUp([receiver.host])
    await alerts.addTarget({ url: `${receiver.url}/depth`, rules: ['depth'] }, who)
    await alerts.addTarget({ url: `${receiver.url}/dead`, rules: ['depth', 'dead-letters'] }, who)
    await die()
    await alerts.look()
    await callThatIs('completed')
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook/dead'])
  })

  test('is found by a worker without anybody asking it to look', { timeout: 60_000 }, async () => {
    const receiver = await startReceiver()
    const { alerts, die } = await setUp([receiver.host])
    await alerts.addTarget({ url: receiver.url }, who)
    await die()
    await eventually(() => receiver.received.length === 1, { within: 45_000, every: 250 })
  })
})
