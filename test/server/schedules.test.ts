import { defineSchedule, defineType } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { type Serving, serve } from '../support/serving.js'

const report = defineType({ type: 'report' })
let serving: Serving
let call: Contract
let operator: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([report, defineType({ type: 'other' })])
  call = await contractOf(serving)
  operator = (await serving.holdfast.access.createKey({ service: 'on-call', roles: ['operator'] }, { by: 'ada' })).key
})
afterAll(() => serving.end())

test('/admin/schedules: what the library does, by a key, in the words of HTTP and with a line in the audit log', async () => {
  const asked = {
    name: 'hourly',
    type: 'report',
    payload: { n: 1 },
    cron: '0 * * * *',
    time_zone: 'Europe/Berlin',
    missed: { all: 3 },
    why: 'new',
  }
  const created = await call('POST', '/admin/schedules', asked, operator)
  expect(created).toMatchObject({
    status: 201,
    body: { name: 'hourly', time_zone: 'Europe/Berlin', missed: { all: 3 }, status: 'active', code: null },
  })
  expect((await call('POST', '/admin/schedules', asked, operator)).status).toBe(409)
  const [line] = await serving.holdfast.audit({ action: 'create_schedule', limit: 1 })
  expect(line).toMatchObject({ actor: 'on-call', origin: '127.0.0.1', target: 'hourly', why: 'new' })

  expect((await call('PATCH', '/admin/schedules/hourly', { overlap: 'skip', max_attempts: 3 }, operator)).body).toMatchObject({
    overlap: 'skip',
    max_attempts: 3,
    changed: { by: 'on-call' },
  })
  expect((await call('POST', '/admin/schedules/hourly/pause', { why: 'a test' }, operator)).body).toMatchObject({
    status: 'paused',
    paused: { by: 'on-call', why: 'a test' },
    next: null,
  })
  const ran = (await call('POST', '/admin/schedules/hourly/run', {}, operator)).body
  expect(ran).toMatchObject({ outcome: 'created', in_the_way: null })
  expect((await call('POST', '/admin/schedules/hourly/run', {}, operator)).body).toEqual({
    job: null,
    outcome: 'skipped',
    in_the_way: ran.job,
  })
  const story = (await call('GET', '/admin/schedules/hourly', undefined, operator)).body
  expect(story.reasons[0].why).toMatch(/^it was paused by on-call/)
  expect(story.ticks.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['skipped', 'created'])
  expect((await call('GET', '/admin/schedules/hourly/preview?count=3', undefined, operator)).body.ticks).toHaveLength(3)
  expect((await call('POST', '/admin/schedules/hourly/resume', {}, operator)).body.status).toBe('active')
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T05:00:00Z' }
  expect((await call('POST', '/admin/schedules/hourly/backfill', range, operator)).body).toMatchObject({
    ticks: 6,
    made: { length: 6 },
  })

  await serving.holdfast.schedules.define([defineSchedule({ name: 'old', type: report, every: '1h' })])
  await serving.holdfast.schedules.define([])
  expect((await call('GET', '/admin/schedules?limit=1', undefined, operator)).body).toMatchObject({
    schedules: [{ name: 'hourly' }],
    next: 'hourly',
  })
  expect((await call('POST', '/admin/schedules/prune', { dry_run: true }, operator)).body).toEqual({ names: ['old'] })
  expect((await call('POST', '/admin/schedules/prune', {}, operator)).body).toEqual({ names: ['old'] })
  expect((await call('DELETE', '/admin/schedules/hourly', undefined, operator)).status).toBe(204)
  expect((await call('GET', '/admin/schedules/hourly', undefined, operator)).status).toBe(404)
})

test('/admin/schedules refuses what is wrong, and types that are not of the key', async () => {
  const wrong = await serving.call(
    'POST',
    '/admin/schedules',
    { name: 'x', type: 'report', cron: '61 * * * *', time_zone: 'Mars' },
    operator,
  )
  expect(wrong.status).toBe(400)
  const { errors } = (await wrong.json()) as { errors: { field: string }[] }
  expect(errors.map(({ field }: { field: string }) => field).sort()).toEqual(['cron', 'time_zone'])
  const { key } = await serving.holdfast.access.createKey(
    { service: 'small', roles: ['operator'], types: ['other'] },
    { by: 'ada' },
  )
  await serving.holdfast.schedules.create({ name: 'theirs', type: 'report', cron: '@daily' }, { by: 'ada' })
  for (const [path, body] of [
    ['', { name: 'y', type: 'report', cron: '@daily' }],
    ['/theirs/run', {}],
    ['/theirs/backfill', { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }],
  ] as const) {
    expect((await call('POST', `/admin/schedules${path}`, body, key)).status).toBe(403)
  }
  expect((await call('PATCH', '/admin/schedules/theirs', { type: 'other' }, key)).status).toBe(403)
  const { key: viewer } = await serving.holdfast.access.createKey({ service: 'looker', roles: ['viewer'] }, { by: 'ada' })
  expect((await call('POST', '/admin/schedules/theirs/pause', {}, viewer)).status).toBe(403)
  expect((await call('GET', '/admin/schedules', undefined, viewer)).status).toBe(200)
})

test('the client does with schedules what the library does', async () => {
  const { schedules } = new HoldfastClient({ url: serving.address, key: operator })
  expect(await schedules.create({ name: 'a/b', type: 'report', every: '1d' })).toMatchObject({ created_by: 'on-call' })
  await expect(schedules.create({ name: 'a/b', type: 'report', every: '1d' })).rejects.toMatchObject({ code: 'conflict' })
  expect(await schedules.change('a/b', { every: '1h' })).toMatchObject({ every: '1h' })
  await schedules.pause('a/b', { why: 'a test' })
  expect(await schedules.get('a/b')).toMatchObject({ status: 'paused', paused: { by: 'on-call', why: 'a test' } })
  await schedules.resume('a/b')
  expect(await schedules.get('a/b')).toMatchObject({ status: 'active', reasons: [], ticks: [] })
  expect(await schedules.preview('a/b', { count: 2 })).toHaveLength(2)
  expect(await schedules.runNow('a/b')).toMatchObject({ outcome: 'created', job: expect.any(String) })
  const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T03:00:00Z' }
  expect(await schedules.backfill('a/b', { ...range, dry_run: true })).toEqual({ ticks: 4, made: [] })
  expect((await schedules.list({ after: 'a/a', limit: 1 })).schedules).toMatchObject([{ name: 'a/b' }])
  expect(await schedules.prune({ dry_run: true })).not.toContain('a/b')
  await schedules.remove('a/b', { why: 'done' })
  expect(await schedules.get('a/b')).toBeUndefined()
})
