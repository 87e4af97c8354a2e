import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HoldfastClient } from 'holdfast/client'
import { rules } from 'holdfast/server'
import { afterAll, beforeAll, expect, test } from 'vitest'

const asked: string[] = []
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url?.split('?')[0]}`)
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"jobs":[]}')
})
let client: HoldfastClient
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  client = new HoldfastClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'k' })
})
afterAll(() => void server.close())

/** A name with what has to be escaped in a path. */
const odd = 'a/b c'
const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }

/** The method of the client that calls a route. */
const methods: Record<string, () => Promise<unknown>> = {
  'POST /jobs': () => client.enqueue('greet', {}),
  'POST /jobs/bulk': () => client.enqueueMany([{ type: 'greet', payload: {} }]),
  'POST /jobs/:id/signals': () => client.signal(odd, 'paid'),
  'GET /events': () => client.events.page(),
  'GET /series': () => client.series(),
  'GET /series/types': () => client.typeSeries(),
  'GET /jobs/counts': () => client.jobCounts(),
  'GET /workflows': () => client.executions.workflows(),
  'GET /errors': () => client.errorGroups.list(),
  'GET /errors/:fingerprint': () => client.errorGroups.get(odd),
  'GET /doctor': () => client.doctor(),
  'GET /jobs': () => client.jobs(),
  'GET /jobs/:id': () => client.job(odd),
  'GET /jobs/:id/explain': () => client.explain(odd),
  'GET /jobs/:id/log': () => client.log(odd),
  'GET /jobs/:id/wait': () => client.wait(odd),
  'DELETE /jobs/:id': () => client.cancel(odd, { why: 'no' }),
  'POST /jobs/:id/resume': () => client.resume(odd),
  'POST /jobs/:id/run-now': () => client.runNow(odd),
  'POST /jobs/:id/reschedule': () => client.reschedule(odd, { delay: '1h' }),
  'POST /jobs/:id/bury': () => client.bury(odd),
  'POST /jobs/:id/approve': () => client.approve(odd),
  'POST /jobs/:id/reject': () => client.reject(odd, { why: 'no' }),
  'POST /bulk': () => client.bulkActions.create({ action: 'cancel', filter: { all: true } }),
  'GET /bulk': () => client.bulkActions.list(),
  'GET /bulk/:id': () => client.bulkActions.get(odd),
  'POST /bulk/:id/abort': () => client.bulkActions.abort(odd),
  'POST /batches': () => client.batch({}),
  'POST /batches/:id/jobs': () => client.batches.add(odd, []),
  'POST /batches/:id/close': () => client.batches.close(odd),
  'GET /batches': () => client.batches.list(),
  'GET /batches/:id': () => client.batches.get(odd),
  'POST /batches/:id/cancel': () => client.batches.cancel(odd),
  'POST /batches/:id/retry': () => client.batches.retry(odd),
  'POST /executions': () => client.executions.start('order', {}),
  'POST /executions/:id/rerun': () => client.executions.rerun(odd, 'pay'),
  'GET /executions': () => client.executions.list(),
  'GET /executions/:id': () => client.executions.get(odd),
  'GET /executions/:id/tasks': () => client.executions.tasks(odd),
  'GET /executions/:id/wait': () => client.executions.wait(odd),
  'POST /executions/:id/cancel': () => client.executions.cancel(odd),
  'POST /executions/:id/resume': () => client.executions.resume(odd),
  'GET /admin/workers/lanes': () => client.flow.lanes(),
  'PATCH /admin/workers/lanes/:name': () => client.flow.setLane(odd, { enabled: false }),
  'GET /admin/workers/lanes/:name/slots': () => client.flow.slots(odd),
  'GET /admin/workers/status': () => client.flow.workers(),
  'POST /admin/workers/processes/:id/drain': () => client.flow.drainWorker(7),
  'POST /admin/workers/processes/:id/resume': () => client.flow.resumeWorker(7),
  'GET /admin/builds': () => client.flow.builds.list(),
  'GET /admin/builds/:build/canary': () => client.flow.builds.canary(odd, { baseline: odd }),
  'POST /admin/builds/:build/drain': () => client.flow.builds.drain(odd),
  'POST /admin/builds/:build/resume': () => client.flow.builds.resume(odd),
  'PATCH /admin/workers/jobs/:id/priority': () => client.setPriority(odd, 9),
  'GET /admin/job-types': () => client.flow.types(),
  'GET /admin/job-types/:type': () => client.flow.type(odd),
  'PUT /admin/job-types/:type': () => client.flow.defineType(odd),
  'PATCH /admin/job-types/:type': () => client.flow.moveType(odd, 'bulk'),
  'POST /admin/job-types/:type/pause': () => client.flow.pauseType(odd),
  'POST /admin/job-types/:type/resume': () => client.flow.resumeType(odd),
  'POST /admin/job-types/:type/breaker': () => client.flow.breaker(odd, { action: 'open' }),
  'PATCH /admin/job-types/:type/limits': () => client.flow.limit(odd, { max_running: 1 }),
  'POST /admin/job-types/:type/release': () => client.flow.releaseType(odd),
  'POST /admin/workers/lanes/:name/release': () => client.flow.releaseLane(odd),
  'POST /admin/job-types/:type/limits/release': () => client.flow.releaseLimits(odd),
  'GET /admin/job-types/:type/keys': () => client.flow.keys(odd),
  'POST /admin/job-types/:type/keys/pause': () => client.flow.pauseKey(odd, 'tenant'),
  'POST /admin/job-types/:type/keys/resume': () => client.flow.resumeKey(odd, 'tenant'),
  'PUT /admin/job-types/:type/keys/weight': () => client.flow.setWeight(odd, 'tenant', 2),
  'GET /admin/dependencies': () => client.flow.dependencies(),
  'PATCH /admin/dependencies/:name': () => client.flow.limitDependency(odd, { max_running: 1 }),
  'POST /admin/dependencies/:name/release': () => client.flow.releaseDependency(odd),
  'POST /admin/dependencies/:name/pause': () => client.flow.pauseDependency(odd),
  'POST /admin/dependencies/:name/resume': () => client.flow.resumeDependency(odd),
  'POST /admin/dependencies/:name/breaker': () => client.flow.dependencyBreaker(odd, { action: 'open' }),
  'GET /admin/depth-limits': () => client.flow.depthLimits(),
  'GET /admin/settings': () => client.flow.settings(),
  'PUT /admin/settings': () => client.flow.setSetting({ name: 'max_snoozes', value: 5 }),
  'PUT /admin/depth-limits': () => client.flow.limitDepth({ scope: 'queue', hard: 5 }),
  'GET /admin/schedules': () => client.schedules.list(),
  'POST /admin/schedules': () => client.schedules.create({ name: odd, type: 'report', every: '1d' }),
  'POST /admin/schedules/prune': () => client.schedules.prune(),
  'GET /admin/schedules/:name': () => client.schedules.get(odd),
  'PATCH /admin/schedules/:name': () => client.schedules.change(odd, { every: '1h' }),
  'DELETE /admin/schedules/:name': () => client.schedules.remove(odd),
  'GET /admin/schedules/:name/preview': () => client.schedules.preview(odd),
  'POST /admin/schedules/:name/pause': () => client.schedules.pause(odd),
  'POST /admin/schedules/:name/resume': () => client.schedules.resume(odd),
  'POST /admin/schedules/:name/reset': () => client.schedules.reset(odd),
  'POST /admin/schedules/:name/run': () => client.schedules.runNow(odd),
  'POST /admin/schedules/:name/backfill': () => client.schedules.backfill(odd, range),
  'GET /admin/dlq': () => client.deadLetters.list(),
  'GET /admin/dlq/:id': () => client.deadLetters.get(odd),
  'POST /admin/dlq/replay': () => client.deadLetters.replayMany({ filter: { all: true } }),
  'POST /admin/dlq/discard': () => client.deadLetters.discardMany({ filter: { all: true } }),
  'POST /admin/dlq/:id/replay': () => client.deadLetters.replay(odd),
  'POST /admin/dlq/:id/discard': () => client.deadLetters.discard(odd),
  'GET /admin/alerts': () => client.alerts.get(),
  'PUT /admin/alerts/rules/:name': () => client.alerts.setRule(odd, { threshold: 1 }),
  'DELETE /admin/alerts/rules/:name': () => client.alerts.dropRule(odd),
  'GET /admin/alerts/targets': () => client.alerts.targets(),
  'POST /admin/alerts/targets': () => client.alerts.addTarget({ url: 'https://hooks.example.com' }),
  'DELETE /admin/alerts/targets/:id': () => client.alerts.removeTarget(7),
  'POST /admin/alerts/targets/:id/test': () => client.alerts.testTarget(7),
  'POST /admin/alerts/targets/:id/rotate': () => client.alerts.rotateTarget(7),
  'GET /admin/keys': () => client.access.keys('shop'),
  'POST /admin/keys': () => client.access.createKey({ service: 'shop', roles: ['producer'] }),
  'POST /admin/certificates': () => client.access.trustCertificate({ subject: 'shop', service: 'shop', roles: ['producer'] }),
  'POST /admin/keys/:id/rotate': () => client.access.rotateKey(7),
  'DELETE /admin/keys/:id': () => client.access.revokeKey(7),
  'DELETE /admin/sessions': () => client.access.endSessions('person:ada@example.com'),
  'GET /admin/roles': () => client.access.roles(),
  'PUT /admin/roles/:name': () => client.access.setRole(odd, { permissions: [] }),
  'DELETE /admin/roles/:name': () => client.access.dropRole(odd),
  'GET /admin/audit': () => client.access.audit(),
}

/** Routes without a method, and why. */
const exceptions = [
  { route: /^(GET \/$|GET \/icon|GET \/assets\/|\w+ \/session(\/.*)?$)/, why: 'they are for browsers' },
  { route: /^GET \/(healthz|readyz|status|autoscale|metrics|openapi\.json)$/, why: 'they are for what watches the server' },
  { route: /^GET \/jobs\/:id\/stream$/, why: 'a stream of server-sent events; wait and events do the same' },
  { route: /^POST \/worker\//, why: 'they are the protocol of remote workers' },
  { route: /^POST \/admin\/workers\/jobs\/:id\/cancel$/, why: 'cancel does the same' },
]

test('every route has its method in the client, or a reason why it has none', async () => {
  const excepted = (route: string) => exceptions.some((one) => one.route.test(route))
  const needed = Object.keys(rules).filter((route) => !excepted(route))
  expect(Object.keys(methods).sort()).toEqual(needed.sort())
  for (const { route, why } of exceptions)
    expect(
      Object.keys(rules).some((one) => route.test(one)),
      why,
    ).toBe(true)
  for (const [route, call] of Object.entries(methods)) {
    asked.length = 0
    await call()
    const path = route.replace(/(processes|keys|targets)\/:id/, '$1/7').replace(/:\w+/, encodeURIComponent(odd))
    expect(asked, route).toEqual([path])
  }
})
