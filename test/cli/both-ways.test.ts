import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineSchedule, defineType, defineWorkflow, FatalError } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { reach } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { startHere } from '../support/worker-here.js'

/** Commands that do the same over the database and over HTTP, one way after the other: what the first did, the second does again. */
const mail = defineType({ type: 'mail' })
const done = defineType({ type: 'done', run() {} })
const order = defineWorkflow({
  name: 'order',
  tasks(task) {
    task('pack', {
      run: () => {
        throw new FatalError('no box')
      },
    })
  },
})
const broken = defineType({
  type: 'broken',
  run: ({ fixed }: { fixed?: boolean }) => {
    if (!fixed) throw new FatalError('no printer')
  },
})

async function setUp() {
  const reached = await reach()
  await reached.queue.holdfast.registerTypes([mail, broken, done])
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = (name: string, content: unknown) => {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  return { ...reached, file, holdfast: reached.queue.holdfast, ways: [reached.eachWay.database, reached.eachWay.http] }
}

test('holdfast jobs run-now, resume, replay and forget', async () => {
  const { queue, holdfast, ways } = await setUp()
  await startHere(queue, [broken, done])
  for (const type of ways) {
    const { id } = await holdfast.enqueue(mail, {}, { delay: '1h' })
    expect(await type('jobs', 'run-now', id, '--why', 'now')).toBe(`Job ${id} is pending; it was scheduled.`)
    await holdfast.cancel(id, { by: 'ada' })
    expect(await type('jobs', 'resume', id)).toBe(`Job ${id} is scheduled; it was cancelled.`)
    const { id: dead } = await holdfast.enqueue(broken, {})
    await eventually(async () => (await holdfast.job(dead))?.status === 'dead')
    expect(await type('jobs', 'replay', dead)).toBe(`Job ${dead} is pending; it was dead.`)
    const { id: ended } = await holdfast.enqueue(done, {})
    await eventually(async () => (await holdfast.job(ended))?.status === 'completed')
    expect(await type('jobs', 'forget', ended, '--yes')).toBe(`Job ${ended} is forgotten.`)
    const { id: edited } = await holdfast.enqueue(broken, {})
    await eventually(async () => (await holdfast.job(edited))?.status === 'dead')
    expect(await type('dlq', 'edit', edited, '{"fixed":true}', '--yes')).toContain(`Job ${edited} is pending; it was dead.`)
  }
})

test('holdfast jobs ls and bulk start take the error group, the batch and when jobs ended', async () => {
  const { queue, holdfast, both, ways } = await setUp()
  await startHere(queue, [broken])
  const batch = await holdfast.batch({ jobs: [broken.job({}), broken.job({})] })
  const other = await holdfast.enqueue(mail, {})
  await eventually(async () => (await holdfast.jobs({ status: 'dead' })).jobs.length === 2)
  const [group] = await eventually(async () => {
    const groups = await holdfast.errorGroups.list()
    return groups.length === 1 && groups
  })
  const ids = async (...filter: string[]) =>
    (JSON.parse(await both('jobs', 'ls', '--json', ...filter)).jobs as { id: string }[]).map(({ id }) => id).sort()
  const members = batch.jobs.map(({ id }) => id).sort()
  expect(await ids('--batch', batch.id)).toEqual(members)
  expect(await ids('--error-group', group?.fingerprint as string)).toEqual(members)
  expect(await ids('--ended-after', '2026-01-01T00:00:00Z')).toEqual(members)
  expect(await ids('--ended-before', '2026-01-01T00:00:00Z')).toEqual([])
  expect(members).not.toContain(other.id)
  expect(await both('jobs', 'ls', '--ended-after', 'yesterday')).toMatch(/^2 holdfast: --ended-after is "yesterday"/)
  for (const type of ways)
    expect(await type('bulk', 'start', 'replay', '--error-group', group?.fingerprint as string, '--dry-run')).toBe(
      '2 jobs fit; nothing was done.',
    )
})

test('holdfast schedules create, change, pause, resume, run-now, reset and remove', async () => {
  const { holdfast, ways, both, file } = await setUp()
  const stands = defineSchedule({ name: 'stands', type: 'mail', cron: '0 3 * * *' })
  await holdfast.schedules.define([stands])
  const nightly = file('nightly.json', { type: 'mail', cron: '0 3 * * *', payload: { to: 'ada' }, missed: { all: 3 } })
  for (const type of ways) {
    expect(
      await type('schedules', 'create', 'nightly', '--file', nightly, '--time-zone', 'Europe/Vienna', '--tag', 'night'),
    ).toMatch(/^nightly ticks next at 2/)
    expect(await holdfast.schedules.get('nightly')).toMatchObject({
      cron: '0 3 * * *',
      timeZone: 'Europe/Vienna',
      tags: ['night'],
      payload: { to: 'ada' },
    })
    expect(await type('schedules', 'create', 'nightly', '--type', 'mail', '--every', '1h')).toMatch(/^1 holdfast: .*nightly/)
    expect(await type('schedules', 'change', 'nightly', '--every', '15m', '--missed', 'once', '--why', 'more often')).toMatch(
      /nightly/,
    )
    expect(await holdfast.schedules.get('nightly')).toMatchObject({ cron: null, missed: 'once' })
    expect(await type('schedules', 'change', 'nightly')).toMatch(/^2 holdfast: nothing to change was given/)
    expect(await type('schedules', 'create', 'other', '--cron', '0 3 * * *')).toMatch(/^2 holdfast: no type was given/)
    expect(await type('schedules', 'change', 'nightly', '--file', file('wrong.json', { crn: '0 4 * * *' }))).toMatch(
      /^\d holdfast: .*crn/,
    )
    expect(await type('schedules', 'pause', 'nightly')).toMatch(/^nightly is paused/)
    expect(await type('schedules', 'resume', 'nightly')).toBe('nightly ticks again.')
    expect(await type('schedules', 'run-now', 'nightly')).toMatch(/^Job \S+ was made/)
    await holdfast.schedules.change('stands', { cron: '0 5 * * *' }, { by: 'ada' })
    expect(await type('schedules', 'reset', 'stands')).toBe('stands is as the code says.')
    expect(await type('schedules', 'remove', 'nightly', '--yes')).toBe('nightly is removed.')
  }
  expect(await both('schedules', 'show', 'nightly')).toMatch(/^1 holdfast: there is no schedule/)
})

test('holdfast batches create, add, close and cancel', async () => {
  const { holdfast, ways, file } = await setUp()
  const job = (to: string) => ({ type: 'mail', payload: { to } })
  const batch = file('batch.json', {
    jobs: [job('ada'), { ...job('grace'), max_attempts: 2, run_at: '2099-01-01T00:00:00Z' }],
    on_complete: job('editor'),
  })
  const many = file(
    'many.json',
    Array.from({ length: 130 }, (_, n) => job(`reader ${n}`)),
  )
  for (const type of ways) {
    const said = await type('batches', 'create', '--file', batch, '--name', 'spring', '--open')
    const [id = '', about] = said.split('\n')
    expect(about).toMatch(/^2 jobs were stored/)
    expect(await type('batches', 'add', id, 'mail', '{"to": "alan"}')).toBe(`1 jobs were added to batch ${id}.`)
    expect(await type('batches', 'add', id, '--file', many)).toBe(`130 jobs were added to batch ${id}.`)
    expect(await type('batches', 'add', id)).toMatch(/^2 holdfast: say which jobs/)
    expect(await holdfast.batches.get(id)).toMatchObject({ name: 'spring', open: true, total: 133 })
    expect(await type('batches', 'close', id)).toBe(`Batch ${id} ends with its last member.`)
    expect(await holdfast.batches.get(id)).toMatchObject({ open: false })
    expect(await type('batches', 'cancel', id, '--yes')).toBe(`Batch ${id} is being cancelled.`)
    expect(await type('batches', 'create', '--file', file('wrong.json', { jobs: [{ typ: 'mail' }] }))).toMatch(
      /^\d holdfast: .*jobs\[0\]/,
    )
    expect(await type('batches', 'create', '--file', '/nowhere/batch.json')).toMatch(
      /^2 holdfast: \/nowhere\/batch.json cannot be read/,
    )
  }
})

test('holdfast lanes, types, dependencies and settings are changed and given back', async () => {
  const { holdfast, ways } = await setUp()
  await holdfast.flow.limitDependency('printer', { maxRunning: 2 }, { by: 'ada' }, { create: true })
  for (const [at, type] of ways.entries()) {
    expect(await type('lanes', 'create', `lane${at}`, '--slots', '3')).toMatch(/0 of 3 slots in use/)
    expect(await type('lanes', 'drain', 'default')).toMatch(/^default {2}drains/)
    expect(await type('lanes', 'resume', 'default')).toMatch(/^default {2}runs/)
    expect(await type('lanes', 'set', 'default', '--slots', '7')).toMatch(/of 7 slots/)
    expect(await type('lanes', 'release', 'default', 'slots')).toMatch(/^default {2}runs {2}0 running/)
    expect(await type('types', 'limit', 'mail', '--max-running', '3')).toMatch(/0 of 3 running/)
    expect(await type('types', 'release', 'mail')).not.toMatch(/of 3 running/)
    expect(await type('types', 'pause', 'mail')).toMatch(/paused by/)
    expect(await type('types', 'resume', 'mail')).not.toMatch(/paused/)
    expect(await type('types', 'breaker', 'mail', 'hold-open')).toMatch(/breaker open/)
    expect(await type('types', 'breaker', 'mail', 'release')).toMatch(/^mail/)
    await holdfast.flow.defineType('mail', { timeout: '7s' }, { by: 'ada' })
    expect(await type('types', 'reset', 'mail', 'timeout')).toMatch(/mail/)
    expect((await holdfast.flow.type('mail'))?.timeoutMs).toBe(300_000)
    expect(await type('dependencies', 'breaker', 'printer', 'hold-open')).toMatch(/breaker open/)
    expect(await type('dependencies', 'pause', 'printer')).toMatch(/paused by/)
    expect(await type('dependencies', 'resume', 'printer')).not.toMatch(/paused/)
    expect(await type('dependencies', 'limit', 'printer', '--max-running', '5')).toMatch(/of 5 running/)
    expect(await type('dependencies', 'release', 'printer')).toMatch(/^printer/)
    await holdfast.flow.setSetting('retention_dead', '40d', { by: 'ada' })
    expect(await type('settings', 'release', 'retention_dead')).not.toMatch(/^\d holdfast/)
  }
})

test('holdfast builds and canary, alerts, keys and roles', async () => {
  const { queue, holdfast, ways } = await setUp()
  await startHere(queue, [done], { build: 'new' })
  await startHere(queue, [done], { build: 'old' })
  for (const type of ways) {
    expect(await type('builds', 'ls')).toMatch(/new/)
    expect(await type('builds', 'drain', 'new')).toMatch(/new/)
    expect(await type('builds', 'resume', 'new')).toMatch(/new/)
    // Nothing ran yet: it is too early to say, and a script hears so.
    expect(await type('canary', 'new', '--baseline', 'old')).toMatch(/^3 /)
    expect(await type('roles', 'set', 'support', 'jobs:read', 'workers:view')).toBe('support allows jobs:read workers:view.')
    expect(await type('roles', 'ls')).toMatch(/^support +your own +jobs:read workers:view$/m)
    expect(await type('roles')).toMatch(/^support +your own/m)
    expect(await type('roles', 'set', 'support', 'jobs:fly')).toMatch(/^\d holdfast: .*jobs:fly/)
    expect(await type('roles', 'drop', 'support', '--yes')).toBe('The role support is removed.')
    expect(await type('keys', 'trust', 'billing', 'billing.internal', '--role', 'producer')).toMatch(/are accepted as billing/)
    const [key] = await holdfast.access.keys('billing')
    expect(await type('keys', 'revoke', String(key?.id), '--yes')).toMatch(/is revoked/)
    const made = await holdfast.access.createKey({ service: `shop${ways.indexOf(type)}`, roles: ['producer'] }, { by: 'ada' })
    expect(await type('keys', 'rotate', String(made.id), '--grace', '1h')).toMatch(/^hf_/)
  }
})

test('holdfast workflows resume and rerun, bulk abort, approvals approve, alerts set, drop and targets rotate', async () => {
  const { queue, holdfast, ways } = await setUp()
  const worker = await startHere(queue, order.types)
  const failed = async (id: string) => eventually(async () => (await holdfast.executions.overview(id))?.status === 'failed')
  for (const type of ways) {
    const { id } = await holdfast.start(order, null)
    await failed(id)
    expect(await type('workflows', 'resume', id)).toBe(`Execution ${id} is running.`)
    await failed(id)
    expect(await type('workflows', 'rerun', id, 'pack')).toMatch(/repeats it from pack on\.$/)
  }
  await worker.stop()
  const { id: ops } = await holdfast.alerts.addTarget({ url: 'https://alerts.example.com/in' }, { by: 'ada' })
  for (const type of ways) {
    const asked = await holdfast.enqueue(mail, {}, { approval: true })
    expect(await type('approvals', 'approve', asked.id)).toBe(`Job ${asked.id} is pending; it was awaiting approval.`)
    const bulk = await holdfast.bulk({ action: 'cancel', filter: { type: 'mail' } }, { by: 'ada' })
    expect(await type('bulk', 'abort', bulk.id, '--yes')).toMatch(/aborted/)
    expect(await type('alerts', 'set', 'deep', '--kind', 'depth', '--threshold', '5')).toMatch(/deep/)
    expect(await type('alerts', 'drop', 'deep', '--yes')).toBe('deep is removed.')
    expect(await type('alerts', 'targets', 'rotate', String(ops), '--grace', '1h')).not.toMatch(/^\d holdfast/)
  }
})

test('holdfast log shows what a handler logged, and enqueue takes approval, attempts, expiry and a unique key', async () => {
  const { queue, holdfast, ways } = await setUp()
  const talks = defineType({
    type: 'talks',
    run(_payload, { log }) {
      log('page 1')
      log.warn('page 2 is\nempty')
    },
  })
  await startHere(queue, [talks])
  const { id } = await holdfast.enqueue(talks, {})
  await eventually(async () => (await holdfast.log(id)).length === 2)
  for (const run of ways) {
    const said = (await run('log', id)).split('\n')
    expect(said[0]).toMatch(/attempt 1 {2}info {3}page 1$/)
    expect(said[1]).toMatch(/attempt 1 {2}warn {3}page 2 is.*empty$/)
    expect(JSON.parse(await run('log', id, '--json'))).toMatchObject([{ line: 'page 1' }, { level: 'warn', attempt: 1 }])
    expect(await run('log', '0190b5c2-7d4e-7c3a-9f10-3a5b7c9d1e2f')).toMatch(/there is no job/)
  }
  const stored: string[] = []
  for (const run of ways) {
    const options = ['--approval', '--max-attempts', '2', '--expire-in', '1d', '--unique', 'mail-7', '--on-conflict', 'existing']
    stored.push(JSON.parse(await run('enqueue', 'mail', '{}', ...options, '--json')).id)
  }
  // Over HTTP a unique key belongs to the service.
  expect(stored[0]).not.toBe(stored[1])
  for (const one of stored) {
    const job = await holdfast.job(one)
    expect(job).toMatchObject({ status: 'awaiting_approval', maxAttempts: 2 })
    expect(job?.startBy).toBeInstanceOf(Date)
  }
  const again = JSON.parse(
    await (ways[0] as (typeof ways)[0])('enqueue', 'mail', '{}', '--unique', 'mail-7', '--on-conflict', 'existing', '--json'),
  )
  expect(again).toMatchObject({ id: stored[0], status: 'existing' })
})
