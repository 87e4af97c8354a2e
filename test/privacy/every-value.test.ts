import fc from 'fast-check'
import { defineType } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startReceiver } from '../support/receiver.js'
import { type Serving, serve } from '../support/serving.js'

const seed = 20_261_117
const redact = ['a', 'b.c', 'items[].secret', 'list[].b[]', 'deep.a.b']

interface Made {
  payload: Record<string, unknown>
  secrets: string[]
}

let serial = 0
/** Payloads that have several secrets each, at paths of every kind, none of them twice in the world. */
function madePayloads(count: number): Made[] {
  const shapes = fc.record({ a: fc.nat(3), c: fc.nat(3), items: fc.nat(4), list: fc.nat(4), quoted: fc.boolean() })
  return fc.sample(shapes, { seed, numRuns: count }).map(({ a, c, items, list, quoted }) => {
    const secrets: string[] = []
    const secret = () => {
      serial += 1
      secrets.push(`s3cr3t${serial}-${quoted ? 'say "ü" ' : ''}${Math.imul(serial, 2_654_435_761) >>> 0}`)
      return secrets.at(-1) as string
    }
    const many = <Item>(length: number, item: () => Item) => Array.from({ length }, item)
    const payload = {
      a: { [`x${a}`]: many(a, secret), n: secret() },
      b: { c: many(c, secret), open: 'fine' },
      items: many(items, () => ({ secret: secret(), n: 1 })),
      list: many(list, () => ({ b: many(2, secret) })),
      deep: [{ a: { b: secret() } }, { a: [{ b: secret() }] }],
    }
    return { payload, secrets }
  })
}

const lines: unknown[] = []
const note = (...said: unknown[]) => void lines.push(said)
const logger = { info: note, warn: note, error: note }
const leaky = defineType({
  type: 'leaky',
  redact,
  maxAttempts: 1,
  limits: { breaker: false },
  run(payload: Record<string, unknown>, { log, progress }) {
    const all = JSON.stringify(payload)
    log.warn(all)
    progress(0.5, all.slice(0, 400))
    const cause = Object.assign(new Error(all.slice(0, 290)), { code: all.slice(10, 150) })
    // Late, so that it escapes the attempt and the worker tells it.
    queueMicrotask(() => void Promise.reject(new Error(all)))
    throw Object.assign(new Error(all, { cause }), { code: all.slice(0, 150), name: all.slice(20, 170) })
  },
})
const remote = defineType({ type: 'remote', redact, maxAttempts: 1, limits: { breaker: false } })

test(`no value at any redacted path leaves the process in any way (seed ${seed})`, { timeout: 120_000 }, async () => {
  const receiver = await startReceiver()
  const serving = await serve({ logger }, { alertHosts: [receiver.host] })
  const { holdfast } = serving
  await holdfast.registerTypes([remote], { update: true })
  await holdfast.alerts.addTarget({ url: receiver.url }, { by: 'ada' })
  const made = madePayloads(12)
  await holdfast.events.page()
  const worker = await startWorker(holdfast, [leaky], { logger, drain: 0, alerts: true })
  onTestFinished(async () => {
    await worker.stop()
    await serving.end()
  })
  const local = await holdfast.enqueueMany(made.map(({ payload }) => ({ type: leaky, payload })))
  const far = await holdfast.enqueueMany(made.map(({ payload }) => ({ type: remote, payload })))
  await failFromAfar(serving, made.length)
  const all = [...local, ...far]
  await eventually(async () => (await holdfast.deadLetters.list({}, { limit: 100 })).letters.length === all.length)
  await holdfast.alerts.look()
  await eventually(() => receiver.received.length > 0)
  const out: Record<string, string> = { logs: JSON.stringify(lines), calls: JSON.stringify(receiver.received) }
  // All at once: a stream says goodbye two seconds after the end.
  const read = async (path: string) => {
    out[path] = await (await serving.ask(path)).text()
  }
  const paths = (id: string) => [`/jobs/${id}`, `/jobs/${id}/stream`, `/jobs/${id}/wait?timeout=1ms`, `/admin/dlq/${id}`]
  await Promise.all(all.flatMap(({ id }) => paths(id)).map(read))
  for (const { id } of all) out[`job ${id}`] = JSON.stringify(await holdfast.job(id))
  for (const path of ['/status', '/admin/dlq?limit=100', '/jobs?limit=100&status=dead', '/metrics', '/admin/alerts', '/events']) {
    await read(path)
  }
  for (const table of ['history', 'dead_letters', 'log_lines', 'progress', 'audit_log', 'events']) {
    const { rows } = await serving.sql.query(`select to_jsonb(t)::text as row from holdfast.${table} as t`)
    out[`the table ${table}`] = rows.map(({ row }) => row).join('\n')
  }
  const secrets = made.flatMap((one) => one.secrets)
  expect(secrets.length).toBeGreaterThan(80)
  const leaks = Object.entries(out).flatMap(([place, text]) =>
    secrets
      .filter((secret) => [secret, JSON.stringify(secret).slice(1, -1)].some((spelling) => text.includes(spelling)))
      .map((secret) => `${secret} in ${place}`),
  )
  expect(leaks.slice(0, 10)).toEqual([])
  expect(Object.values(out).filter((text) => text.includes('[redacted]')).length).toBeGreaterThan(60)
})

/** A worker in another language that says everything it knows. */
async function failFromAfar(serving: Serving, count: number): Promise<void> {
  const ask = async (path: string, body: object) => (await serving.call('POST', `/worker/${path}`, body)).json()
  const { worker } = await ask('register', { name: 'afar', types: ['remote'] })
  for (let done = 0; done < count; ) {
    const { jobs } = await ask('claim', { worker, limit: 10, wait: '10s' })
    for (const { id: job, lease, payload } of jobs) {
      const all = JSON.stringify(payload)
      const reports = [{ job, lease, progress: 0.1, note: all.slice(0, 400), lines: [all] }]
      const error = { message: all, stack: `at ${all}`, name: all.slice(0, 150), code: all.slice(30, 150) }
      await ask('settle', { worker, reports, results: [{ job, lease, result: 'fail', error, fatal: true }] })
      done += 1
    }
  }
}
