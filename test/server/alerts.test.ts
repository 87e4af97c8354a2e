import { defineType } from 'holdfast'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { readMeasured } from '../support/measured.js'
import { type Serving, serve } from '../support/serving.js'

let serving: Serving
let call: Contract

beforeAll(async () => {
  serving = await serve({}, { alertHosts: ['alerts.internal'] })
  await serving.holdfast.registerTypes([defineType({ type: 'send_email' })])
  call = await contractOf(serving)
})
afterAll(() => serving.end())

test('targets are made, listed without their secret, tested and removed, and the audit log says so without secrets', async () => {
  const made = await call('POST', '/admin/alerts/targets', { url: 'http://alerts.internal/hook?token=abc', why: 'on call' })
  expect(made).toMatchObject({ status: 201, body: { url: 'http://alerts.internal/hook?token=abc' } })
  expect(made.body.secret).toMatch(/^whsec_/)
  const { targets } = (await call('GET', '/admin/alerts/targets')).body
  expect(targets).toMatchObject([{ id: made.body.id, form: 'webhook', rules: null, created_by: 'admin' }])
  expect(JSON.stringify(targets)).not.toContain('whsec_')
  const tested = await call('POST', `/admin/alerts/targets/${made.body.id}/test`, {})
  expect(tested.status).toBe(202)
  expect(await serving.holdfast.job(tested.body.job)).toMatchObject({ type: 'holdfast:alert', status: 'pending' })
  const rotated = await call('POST', `/admin/alerts/targets/${made.body.id}/rotate`, { grace: '2h', why: 'seen' })
  expect(rotated).toMatchObject({ status: 201, body: { id: made.body.id, url: made.body.url } })
  expect(rotated.body.secret).toMatch(/^whsec_/)
  expect(rotated.body.secret).not.toBe(made.body.secret)
  expect((await call('DELETE', `/admin/alerts/targets/${made.body.id}?why=enough`)).status).toBe(204)
  expect((await call('DELETE', `/admin/alerts/targets/${made.body.id}`)).status).toBe(404)
  expect((await call('POST', `/admin/alerts/targets/${made.body.id}/test`, {})).status).toBe(404)
  expect((await call('POST', `/admin/alerts/targets/${made.body.id}/rotate`, {})).status).toBe(404)
  const lines = await serving.holdfast.audit({ target: String(made.body.id) })
  expect(lines.map(({ action }) => action)).toEqual([
    'drop_alert_target',
    'rotate_alert_secret',
    'test_alert_target',
    'add_alert_target',
  ])
  expect(lines[1]).toMatchObject({ why: 'seen', after: { host: 'alerts.internal', old_until: expect.any(String) } })
  expect(lines.at(-1)).toMatchObject({ why: 'on call', after: { host: 'alerts.internal' } })
  expect(JSON.stringify(lines)).not.toMatch(/whsec_|token/)
})

test('rules are changed field by field, made, switched off and removed', async () => {
  expect((await call('PUT', '/admin/alerts/rules/depth', { threshold: 7 })).body).toMatchObject({ threshold: 7, hold_ms: 60_000 })
  const made = await call('PUT', '/admin/alerts/rules/mine', { kind: 'oldest', threshold: 5, min_priority: 8, enabled: false })
  expect(made.body).toMatchObject({ name: 'mine', kind: 'oldest', min_priority: 8, enabled: false, type: null })
  const { rules, firing, callers } = (await call('GET', '/admin/alerts')).body
  expect(rules).toHaveLength(20)
  expect({ firing, callers }).toEqual({ firing: [], callers: 0 })
  expect((await call('DELETE', '/admin/alerts/rules/mine')).status).toBe(204)
  expect((await call('DELETE', '/admin/alerts/rules/mine')).status).toBe(404)
})

test.each([
  ['POST', '/admin/alerts/targets', { url: 'https://169.254.169.254/' }, 'url'],
  ['POST', '/admin/alerts/targets', { url: 'http://example.com/' }, 'url'],
  ['POST', '/admin/alerts/targets', { url: 'https://example.com/', secret: 'mine' }, 'secret'],
  ['POST', '/admin/alerts/targets', { url: 'https://example.com/', rules: ['dept'] }, undefined],
  ['POST', '/admin/alerts/targets/1/rotate', { grace: '31d' }, 'grace'],
  ['PUT', '/admin/alerts/rules/new', { threshold: 3 }, undefined],
  ['PUT', '/admin/alerts/rules/NEW', { kind: 'depth' }, 'name'],
  ['PUT', '/admin/alerts/rules/depth', { threshold: -1 }, 'threshold'],
  ['PUT', '/admin/alerts/rules/depth', { min_priority: 10 }, 'min_priority'],
  ['PUT', '/admin/alerts/rules/depth', { hold: '2d' }, 'hold'],
  ['PUT', '/admin/alerts/rules/depth', { for: '2d' }, 'for'],
  ['PUT', '/admin/alerts/rules/depth', { severity: 'awful' }, 'severity'],
  ['PUT', '/admin/alerts/rules/depth', { silenced_until: 'tomorrow' }, 'silenced_until'],
  ['POST', '/admin/alerts/targets', { url: 'https://example.com/', form: 'carrier pigeon' }, 'form'],
  ['POST', '/admin/alerts/targets', { url: 'https://example.com/', form: 'pagerduty' }, 'routing_key'],
  ['POST', '/admin/alerts/targets', { url: 'https://example.com/', form: 'slack', routing_key: 'R0123456789' }, 'routing_key'],
  ['PUT', '/admin/alerts/rules/depth', { kind: 'full moon' }, 'kind'],
])('%s %s of %j is refused by name', async (method, path, body, field) => {
  const answer = (await call(method, path, body)).body
  expect(answer).toMatchObject({ status: 400, ...(field && { field }) })
})

test('requests to enqueue that are refused are counted, and too many of them are trouble', async () => {
  for (let n = 0; n < 12; n++) await call('POST', '/jobs', { type: 'send_email' })
  await call('POST', '/jobs', { type: 'send_email', payload: {} }, null)
  // The server writes down what it counted when it closes, if not before.
  await serving.comeBack()
  const found = await eventually(async () => {
    const all = await serving.holdfast.alerts.look()
    return all.length > 0 && all
  })
  expect(found).toEqual([{ state: 'firing', rule: 'enqueue-errors', subject: '', value: 12 }])
  expect((await call('GET', '/admin/alerts')).body.firing).toMatchObject([{ rule: 'enqueue-errors', subject: '', value: 12 }])
  const measured = readMeasured(await (await serving.ask('/metrics')).text())
  expect(measured.get('holdfast_enqueue_errors_total{status="400"}')).toBe(12)
  expect(measured.get('holdfast_enqueue_errors_total{status="401"}')).toBe(1)
  expect(measured.get('holdfast_enqueue_requests_total')).toBe(13)
})
