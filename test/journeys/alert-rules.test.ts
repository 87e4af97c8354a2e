import { randomUUID } from 'node:crypto'
import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { expect, test } from 'vitest'
import { percentile } from '../../src/history/series-of.js'
import { bounds } from '../../src/job/buckets.js'
import { setUp, who } from '../support/alerting.js'
import { eventually } from '../support/facts.js'
import { readMeasured, scrape } from '../support/measured.js'
import { startReceiver } from '../support/receiver.js'

/** Only these rules are evaluated, by this test alone, at a clock that it moves. */
async function makeWatched(rules: readonly string[]) {
  const receiver = await startReceiver()
  const { alerts, holdfast, sql, die, stopUpkeep } = await setUp([receiver.host])
  const { store } = insideOf(holdfast)
  await holdfast.registerTypes([defineType({ type: 'nobody_runs' })])
  for (const { name } of await alerts.rules()) if (!rules.includes(name)) await alerts.setRule(name, { enabled: false }, who)
  await alerts.addTarget({ url: receiver.url }, who)
  return {
    ...{ alerts, holdfast, sql, die, stopUpkeep },
    look: async () => (await alerts.look()).map(({ state, rule, subject }) => `${state} ${rule} ${subject}`.trim()),
    async later(minutes: number) {
      await store.moveClock({ byMs: minutes * 60_000 })
    },
    /** So many wait, as everybody knows. */
    async wait(count: number, options: object = {}) {
      await holdfast.cancelMany({ all: true }, who)
      await holdfast.enqueueMany(Array.from({ length: count }, () => ({ type: 'nobody_runs', payload: {}, ...options })))
      await eventually(async () => {
        await store.operate.measureDepths()
        const [row] = await sql('select coalesce(sum(waiting), 0)::int as waiting from holdfast.depths')
        return row?.waiting === count
      })
    },
    /** What was announced, in order, as state and value. */
    announced: async () =>
      (
        await sql(
          `select payload ->> 'state' as state, (payload ->> 'value')::float8 as value from holdfast.bodies as b
           join holdfast.types as t on t.id = b.type_id where t.name = 'holdfast:alert' order by b.created_at, b.id`,
        )
      ).map(({ state, value }) => `${state} ${value}`),
  }
}

test('a rule fires when it has held for as long as it says, and is forgotten where that was over before', async () => {
  const { alerts, look, later, wait, announced, stopUpkeep } = await makeWatched(['depth'])
  await stopUpkeep()
  await alerts.setRule('depth', { threshold: 2, for: '5m', hold: 0 }, who)
  await wait(3)
  expect(await look()).toEqual([])
  await later(4)
  expect(await look()).toEqual([])
  expect(await alerts.firing()).toEqual([])
  await wait(0)
  await later(2)
  expect(await look()).toEqual([])
  await wait(3)
  expect(await look()).toEqual([])
  await later(5)
  expect(await look()).toEqual(['firing depth'])
  expect(await alerts.firing()).toMatchObject([{ rule: 'depth', value: 3 }])
  await wait(0)
  expect(await look()).toEqual(['resolved depth'])
  expect(await announced()).toEqual(['firing 3', 'resolved 3'])
})

test('nobody is notified of a rule that is silenced, and what still goes on when that ends is told then', async () => {
  const { alerts, sql, look, later, wait, announced, stopUpkeep } = await makeWatched(['depth'])
  await stopUpkeep()
  const silence = async (minutes: number) => {
    const [row] = await sql('select extract(epoch from holdfast.now())::float8 * 1000 as now')
    await alerts.setRule('depth', { silencedUntil: new Date(row?.now + minutes * 60_000) }, who)
  }
  await alerts.setRule('depth', { threshold: 2, for: 0, hold: 0 }, who)
  await silence(60)
  await wait(3)
  expect(await look()).toEqual(['firing depth'])
  expect(await alerts.firing()).toHaveLength(1)
  await wait(0)
  expect(await look()).toEqual(['resolved depth'])
  await wait(4)
  expect(await look()).toEqual(['firing depth'])
  expect(await announced()).toEqual([])
  await later(61)
  expect(await look()).toEqual([])
  expect(await announced()).toEqual(['firing 4'])
  await silence(60)
  await wait(0)
  expect(await look()).toEqual(['resolved depth'])
  // Whoever heard that it began hears that it is over.
  expect(await announced()).toEqual(['firing 4', 'resolved 4'])
})

test('dead letters that go on growing are announced again, once a minute', async () => {
  const { look, later, die, announced } = await makeWatched(['dead-letters'])
  // The worker that runs what dies looks too.
  const afterLooks = (expected: string[]) =>
    eventually(async () => {
      await look()
      expect(await announced()).toEqual(expected)
      return true
    })
  await die(1)
  await afterLooks(['firing 1'])
  await die(2)
  await afterLooks(['firing 1'])
  await later(1.1)
  await afterLooks(['firing 1', 'firing 3'])
  await later(1.1)
  await afterLooks(['firing 1', 'firing 3'])
})

test('rules are about urgent depth and growth, spikes, slow starts and runs, refusals, rescues, fenced results, restarts and retention', async () => {
  const { alerts, holdfast, sql, wait, look, stopUpkeep } = await makeWatched([])
  await stopUpkeep()
  const { metrics } = insideOf(holdfast).store
  for (const { name } of await alerts.rules()) await alerts.setRule(name, { enabled: true, for: 0, hold: 0 }, who)
  // It never ran: what counts then is how long the installation is there.
  await sql('delete from holdfast.retention_ran')
  expect(await look()).toEqual([])

  // Of the type whose jobs nobody runs: enqueued seldom and now 400 a minute; it took a tenth of a second and takes one, and waits for half a minute and more.
  await sql(`insert into holdfast.samples (type_id, at, since, lane_id, enqueued, runs, waits)
    select t.id, holdfast.now() - s.ago, holdfast.now() - s.ago, t.lane_id, s.enqueued, s.runs, s.waits
    from holdfast.types as t, (values
      (interval '7 hours', 0, '{}'::bigint[], '[]'::jsonb),
      (interval '6 minutes', 700, '{0,0,0,0,100}', '[[5,100]]'),
      (interval '0', 2700, '{0,0,0,0,100,0,0,50}', '[[5,100,0,0,0,0,0,0,0,0,0,0,0,40]]')) as s (ago, enqueued, runs, waits)
    where t.name = 'nobody_runs'`)
  await wait(501, { priority: 8 })
  await sql(`update holdfast.depths set oldest_at = holdfast.now()`)
  await sql(
    `insert into holdfast.event_counts (type_id, what, count) select id, 'late', 1 from holdfast.types where name = 'nobody_runs'`,
  )
  await sql(`insert into holdfast.attempt_counts (type_id, at, worker_id, good, bad, lost)
    select id, holdfast.attempt_count_step(holdfast.now()), 1, 0, 0, 11 from holdfast.types where name = 'nobody_runs'`)
  await sql(`insert into holdfast.workers (name, host, pid, version, started_at, seen_at)
    select 'w', 'a-host', n, '1', holdfast.now() - interval '9 minutes', holdfast.now() - interval '2 minutes' from generate_series(1, 4) as n`)
  await metrics.keepTotals()
  const restarts = async () => readMeasured(await scrape(holdfast)).get('holdfast_worker_restarts_total')
  // They are silent, and so they would be if the database had been away: none of them was replaced.
  expect(await restarts()).toBe(0)
  await sql(
    `insert into holdfast.workers (name, host, pid, version, started_at) values ('w', 'a-host', 9, '1', holdfast.now() - interval '1 minute')`,
  )
  await metrics.keepTotals()
  expect(await restarts()).toBe(4)
  // What a producer did wrong is no share of what the servers owe.
  const refusals = [
    { status: 503, count: 3 },
    { status: 400, count: 5 },
  ]
  const fleet = [{ what: 'enqueue_requests' as const, count: 50 }]
  await metrics.note({ id: randomUUID(), durations: [], waits: [], late: [], duties: [], refusals, fleet })
  await sql(`update holdfast.migrations set applied_at = holdfast.now() - interval '2 days'`)

  expect((await look()).sort()).toEqual([
    'firing depth-growth',
    'firing depth-urgent',
    'firing enqueue-error-rate',
    'firing enqueue-spike nobody_runs',
    'firing late-results nobody_runs',
    'firing rescues nobody_runs',
    'firing restarts',
    'firing retention',
    'firing slow-runs nobody_runs',
    'firing slow-starts',
  ])
  const firing = Object.fromEntries((await alerts.firing()).map(({ rule, value }) => [rule, value]))
  expect(firing).toMatchObject({ 'depth-urgent': 501, 'enqueue-error-rate': 0.06, 'late-results': 1, rescues: 11, restarts: 4 })
  expect(firing['enqueue-spike']).toBeCloseTo(400)
  expect(firing['slow-starts']).toBeGreaterThan(30)
  expect(firing['slow-runs']).toBeGreaterThan(9)
})

test('the database knows the buckets of the processes, and makes the same percentiles of them', async () => {
  const { sql } = await setUp()
  expect((await sql('select holdfast.bucket_bounds() as bounds'))[0]?.bounds).toEqual([...bounds])
  for (const counts of [[3], [0, 0, 10, 5, 1], [...bounds.map(() => 1), 7]]) {
    for (const share of [0.5, 0.95, 0.99]) {
      const [row] = await sql('select holdfast.bucket_share($1::bigint[], $2) as seconds', [counts, share])
      expect(row?.seconds).toBeCloseTo(percentile(counts, share) as number, 4)
    }
  }
})

test('Slack gets a message and PagerDuty an event, which it can close when the alert is over', async () => {
  const receiver = await startReceiver()
  const { alerts, die } = await setUp([receiver.host])
  await alerts.setRule('dead-letters', { hold: 0, severity: 'critical' }, who)
  await alerts.addTarget({ url: `${receiver.url}/slack`, form: 'slack' }, who)
  const routingKey = 'R0123456789ABCDEF0123456789ABCDEF'
  const { id } = await alerts.addTarget({ url: `${receiver.url}/pagerduty`, form: 'pagerduty', routingKey }, who)
  await expect(alerts.rotateSecret(id, who)).rejects.toMatchObject({ field: 'id' })
  await die(2)
  await alerts.look()
  await alerts.look()
  await eventually(() => receiver.received.length === 4)
  const sent = (path: string) => receiver.received.filter((one) => one.path.endsWith(path)).map(({ message }) => message)
  const events = sent('pagerduty').sort((a, b) => b.event_action.localeCompare(a.event_action))
  expect(events).toMatchObject([
    {
      routing_key: routingKey,
      event_action: 'trigger',
      dedup_key: 'holdfast/dead-letters/failing',
      payload: {
        ...{ summary: '2 jobs of failing ended dead.', severity: 'critical', source: 'holdfast', component: 'failing' },
        ...{ group: 'dead-letters', class: 'dead_letters', custom_details: { value: 2, threshold: 0 } },
      },
    },
    { event_action: 'resolve', dedup_key: 'holdfast/dead-letters/failing' },
  ])
  expect(receiver.received.find(({ path }) => path.endsWith('pagerduty'))?.headers).not.toHaveProperty('webhook-signature')
  const texts = sent('slack').map(({ text }) => text as string)
  expect(texts.sort()).toEqual([
    ':rotating_light: 2 jobs of failing ended dead.',
    ':white_check_mark: No more jobs of failing end dead. 2 dead letters of it wait until somebody replays or discards them.',
  ])
  expect(sent('slack')[0].blocks[0]).toMatchObject({ type: 'section', text: { type: 'mrkdwn' } })
})

test('a rule is dropped while somebody looks: the look finds it or does not, and never fails', async () => {
  const { alerts, holdfast, sql, look, wait, stopUpkeep } = await makeWatched(['depth'])
  await stopUpkeep()
  await alerts.setRule('depth', { threshold: 2, for: 0 }, who)
  await wait(3)
  await sql('begin')
  await sql(`select holdfast.drop_alert_rule('depth', holdfast.actor('ada'))`)
  // The drop is not committed: nobody can tell yet whether the rule is there.
  let answered = false
  const looked = look().finally(() => {
    answered = true
  })
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => answered || (await sql(waits)).length === 1)
  await sql('commit')
  expect(await looked).toEqual([])
  expect(await holdfast.alerts.firing()).toEqual([])
})
