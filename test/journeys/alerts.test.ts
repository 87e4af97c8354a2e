import { defineType, FatalError, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { readMeasured, scrape } from '../support/measured.js'
import { isSigned, startReceiver } from '../support/receiver.js'
import { quiet } from '../support/serving.js'

const who = { by: 'ada' }
const failing = defineType({ type: 'failing', run: () => Promise.reject(new FatalError('no')), limits: { breaker: false } })

/** A database, and a worker that runs `failing` and makes the calls. */
async function setUp(alertHosts: string[] = []) {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  const holdfast = new Holdfast({ connectionString: scratch.connectionString, alertHosts })
  const client = new pg.Client({ connectionString: scratch.connectionString })
  client.on('error', () => {})
  await client.connect()
  const worker = await startWorker(holdfast, [failing], { logger: quiet, alerts: true })
  onTestFinished(async () => {
    await worker.stop({ now: true })
    await client.end()
    await holdfast.close()
    await scratch.drop()
  })
  const sql = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows
  const calls = () =>
    sql(`select j.id::text, j.status from holdfast.jobs as j where j.type = 'holdfast:alert' order by j.created_at, j.id`)
  return {
    holdfast,
    alerts: holdfast.alerts,
    sql,
    calls,
    /** For tests of what upkeep would mend in the middle of them. */
    stopUpkeep: () => worker.stop({ now: true }),
    /** The one call there is, once it stands so. */
    callThatIs: (status: string) =>
      eventually(async () => {
        const [call, more] = await calls()
        expect(more).toBeUndefined()
        return call?.status === status && (call.id as string)
      }),
    async die(count = 1) {
      const [before] = await sql('select count(*)::int as dead from holdfast.dead_letters')
      await holdfast.enqueueMany(Array.from({ length: count }, () => failing.job({})))
      await eventually(async () => (await sql('select from holdfast.dead_letters')).length === before?.dead + count)
    },
  }
}

/** What the last attempt at a job ended with. */
async function errorOf(holdfast: Holdfast, job: string): Promise<string | undefined> {
  return ((await holdfast.job(job))?.attempts.at(-1)?.error as { message: string } | undefined)?.message
}

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
    await alerts.setRule('depth', { threshold: 4, hold: 0 }, who)
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
    await insideOf(holdfast).store.metrics.note({ id, durations: [], late: [], refusals, duties: [] })
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

  test('is about a table that has no partition for today or tomorrow, until it has, and so is a metric', async () => {
    const { alerts, holdfast, stopUpkeep } = await setUp()
    await stopUpkeep()
    await alerts.setRule('missing-partitions', { hold: 0 }, who)
    expect(await alerts.look()).toEqual([])
    await insideOf(holdfast).store.moveClock({ byMs: 30 * 86_400_000 })
    const tables = ['bodies', 'dead_letters', 'history', 'log_lines', 'results']
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

describe('a call', () => {
  test('to a receiver that is down is tried again under the same id, and arrives when it is back', async () => {
    const receiver = await startReceiver((response) => response.writeHead(503).end('be right back'))
    const { alerts, holdfast, callThatIs } = await setUp([receiver.host])
    const { id, secret } = await alerts.addTarget({ url: receiver.url }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('failed')
    expect(await errorOf(holdfast, job)).toBe(`http://localhost:${receiver.port} answered 503: be right back`)
    receiver.answerWith((response) => response.destroy())
    await holdfast.runNow(job, who)
    await eventually(async () => (await holdfast.job(job))?.attempts.length === 2)
    receiver.answerWith((response) => response.writeHead(200).end())
    await callThatIs('failed')
    await holdfast.runNow(job, who)
    await callThatIs('completed')
    expect(new Set(receiver.received.map((one) => one.id))).toEqual(new Set([`msg_${job}`]))
    expect(receiver.received.every((one) => isSigned(one, secret))).toBe(true)
    expect(receiver.received.at(-1)?.message).toMatchObject({ type: 'alert.test' })
  })

  test('follows no redirect', async () => {
    const receiver = await startReceiver((response) => response.writeHead(302, { location: '/elsewhere' }).end())
    const { alerts, holdfast, callThatIs } = await setUp([receiver.host])
    const { id } = await alerts.addTarget({ url: receiver.url }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('dead')
    expect(await errorOf(holdfast, job)).toContain('answered 302; redirects are not followed')
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook'])
  })

  test('to a name that stands for a private address is not made, unless the configuration names the host', async () => {
    const receiver = await startReceiver()
    const { alerts, holdfast, callThatIs } = await setUp(['somebody.else'])
    const { id } = await alerts.addTarget({ url: `https://localhost:${receiver.port}/hook` }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('dead')
    expect(await errorOf(holdfast, job)).toMatch(/^localhost is at (127\.0\.0\.1|::1), a private address/)
    expect(receiver.connections()).toBe(0)
  })

  test('to a receiver that takes it and talks without end, or never answers, is over in time', { timeout: 60_000 }, async () => {
    const endless = await startReceiver((response) => {
      response.writeHead(500)
      const talk = setInterval(() => response.write('x'.repeat(65_536)), 1)
      response.on('close', () => clearInterval(talk))
    })
    const mute = await startReceiver(() => {})
    const { alerts, holdfast } = await setUp([endless.host, mute.host])
    const errors: string[] = []
    for (const { url } of [endless, mute]) {
      const { id } = await alerts.addTarget({ url }, who)
      const { job } = await alerts.testTarget(id, who)
      errors.push(await eventually(() => errorOf(holdfast, job)))
    }
    expect(errors[0]).toMatch(/answered 500: x{2000}$/)
    expect(errors[1]).toMatch(/did not answer within 10 s$/)
  })

  test('that nobody takes is a dead letter that is seen, and no reason for another call', async () => {
    const receiver = await startReceiver((response) => response.writeHead(410).end())
    const { alerts, die, calls, callThatIs } = await setUp([receiver.host])
    await alerts.addTarget({ url: receiver.url }, who)
    await alerts.setRule('dead-letters', { hold: 0 }, who)
    await die()
    await alerts.look()
    await callThatIs('dead')
    expect(await alerts.look()).toContainEqual({ state: 'firing', rule: 'dead-letters', subject: 'holdfast:alert', value: 1 })
    expect(await alerts.firing()).toMatchObject([{ subject: 'holdfast:alert' }])
    // The end of the first trouble is news; that its call died is not.
    const made = await eventually(async () => {
      const all = await calls()
      return all.every(({ status }) => status === 'dead') && all.length
    })
    expect(made).toBe(2)
    for (let look = 0; look < 4; look++) await alerts.look()
    expect(await calls()).toHaveLength(2)
  })

  test('to a target that was removed ends without being made', async () => {
    const receiver = await startReceiver((response) => response.writeHead(503).end())
    const { alerts, holdfast, callThatIs } = await setUp([receiver.host])
    const { id } = await alerts.addTarget({ url: receiver.url }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('failed')
    await alerts.removeTarget(id, who)
    await holdfast.runNow(job, who)
    await callThatIs('completed')
    expect(receiver.received).toHaveLength(1)
  })
})
