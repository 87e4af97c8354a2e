import { randomBytes } from 'node:crypto'
import { defineType, defineWorkflow } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { rules } from '../../src/server/rules.js'
import { eventually } from '../support/facts.js'
import { adminKey, type Serving, serve } from '../support/serving.js'
import { startTracing } from '../support/traced.js'

const secret = `4111-${randomBytes(8).toString('hex')}`
const payload = { card: { number: secret, brand: 'visa' }, items: [{ n: 1 }, { secret, n: 2 }], password: secret, tenant: 7 }
const shown = {
  card: { number: '[redacted]', brand: 'visa' },
  items: [{ n: 1 }, { secret: '[redacted]', n: 2 }],
  password: '[redacted]',
  tenant: 7,
}
const redact = ['card.number', 'items[].secret']
const seen: unknown[] = []
const lines: unknown[] = []
const logger = { info: note, warn: note, error: note }
function note(...said: unknown[]): void {
  lines.push(said)
}

/** Lets out what it can, in every way a handler has. */
const leaky = defineType({
  type: 'leaky',
  redact,
  maxAttempts: 2,
  backoff: { base: 1, jitter: 0 },
  limits: { breaker: false },
  run(got: typeof payload, { log, progress }) {
    seen.push(got)
    log.warn(`paying with ${got.card.number}`)
    progress(0.5, `at ${got.card.number}`)
    const cause = new Error(`declined: ${JSON.stringify(got)}`)
    throw Object.assign(new Error(`${'x'.repeat(4_070)} ${got.card.number}`, { cause }), { code: `E_${got.card.number}` })
  },
})
const encrypted = defineType({
  ...{ type: 'encrypted', encrypt: true, redact, maxAttempts: 1, limits: { breaker: false } },
  run: leaky.run as never,
})
const remote = defineType({ type: 'remote', redact, maxAttempts: 1, limits: { breaker: false } })
const later = defineType({ type: 'later', redact, approval: true })
const bookkept = defineType({ type: 'bookkept', redact })
const paying = defineWorkflow({ name: 'paying', tasks: (task) => task('pay', { type: bookkept, payload, delay: '1h' }) })

let serving: Serving
const jobs: Record<string, string> = {}
const schedule = 'every-year'
const status = async (id: string) => (await serving.holdfast.job(id))?.status

beforeAll(async () => {
  const encryption = { keys: { one: randomBytes(32).toString('base64') }, current: 'one' }
  serving = await serve({ logger }, { redact: ['password'], encryption })
  const { holdfast } = serving
  await holdfast.registerTypes([remote, later, bookkept], { update: true })
  for (const type of [leaky, encrypted, remote, later]) {
    jobs[type.type] = (await holdfast.enqueue(type, payload)).id
  }
  jobs.batch = (await holdfast.batch({ open: true, onComplete: later.job(payload) })).id
  jobs.execution = (await holdfast.start(paying, payload)).id
  await holdfast.schedules.create({ name: schedule, type: 'later', payload, cron: '0 0 1 1 *' }, { by: 'ada' })
  const worker = await startWorker(holdfast, [leaky, encrypted], { build: 'today', logger, drain: 0 })
  await eventually(
    async () => (await status(jobs.leaky as string)) === 'dead' && (await status(jobs.encrypted as string)) === 'dead',
  )
  await holdfast.deadLetters.replay(jobs.leaky as string, { by: 'ada' }, { payload: { ...payload, tenant: 8 } })
  await eventually(async () => seen.length >= 5 && (await status(jobs.leaky as string)) === 'dead')
  await worker.stop()
  await leakFromAfar()
})
afterAll(() => serving.end())

/** A worker in another language says what it should not. */
async function leakFromAfar(): Promise<void> {
  const ask = async (path: string, body: object) => (await serving.call('POST', `/worker/${path}`, body)).json()
  const { worker } = await ask('register', { name: 'afar', types: [{ type: 'remote', max_attempts: 1 }] })
  const [job] = (await ask('claim', { worker })).jobs
  expect(job.payload).toEqual(payload)
  const reports = [{ job: job.id, lease: job.lease, progress: 0.1, note: secret, lines: [`using ${secret}`] }]
  await ask('heartbeat', { worker, leases: [job.lease], reports })
  const error = { message: `declined ${secret}`, stack: `at ${secret}`, name: secret }
  await ask('settle', { worker, results: [{ job: job.id, lease: job.lease, result: 'fail', error, fatal: true }] })
}

describe('what is redacted', () => {
  test('reaches the handler whole and is nowhere in what the database keeps of errors and lines', async () => {
    expect(seen[0]).toEqual(payload)
    const tables = ['history', 'dead_letters', 'log_lines', 'progress', 'audit_log']
    for (const table of tables) {
      const { rows } = await serving.sql.query(`select to_jsonb(t)::text as row from holdfast.${table} as t`)
      expect(rows.length, table).toBeGreaterThan(0)
      expect(JSON.stringify(rows), table).not.toContain(secret)
      // Nor the beginning of it, where a long message was cut.
      expect(JSON.stringify(rows), table).not.toContain(secret.slice(0, 9))
    }
    expect(JSON.stringify(lines)).not.toContain(secret)
    expect(JSON.stringify(lines)).toContain('job.dead')
  })

  test('is marked in the story of a job, its changes, the list and the dead letters, by path and for every type', async () => {
    const story = await (await serving.ask(`/jobs/${jobs.leaky}`)).json()
    expect(story.payload).toEqual({ ...shown, tenant: 8 })
    expect(story.changes[0]).toMatchObject({ before: { payload: shown }, after: { payload: { ...shown, tenant: 8 } } })
    expect(story.attempts[0].error.message).toContain('[redacted]')
    expect((await (await serving.ask(`/admin/dlq/${jobs.remote}`)).json()).payload).toEqual(shown)
    const list = (await (await serving.ask('/jobs?type=later')).json()).jobs
    expect(list[0].payload).toEqual(shown)
    expect((await (await serving.ask(`/jobs/${jobs.encrypted}`)).json()).payload).toEqual({ $encrypted: 'one' })
  })

  test('stays redacted when a worker in another language defines the type again', async () => {
    const { rows } = await serving.sql.query(`select redact, encrypted from holdfast.types where name = 'remote'`)
    expect(rows).toEqual([{ redact, encrypted: false }])
  })

  test('cannot be searched for, and neither can what is encrypted', async () => {
    const search = async (part: unknown, type = '') =>
      (await serving.ask(`/jobs?${type && `type=${type}&`}payload=${encodeURIComponent(JSON.stringify(part))}`)).json()
    for (const part of [{ card: { number: secret } }, { password: secret }, { items: [{ secret }] }]) {
      expect(await search(part)).toMatchObject({ code: 'invalid_option', field: 'payload', status: 400 })
    }
    expect((await search({ tenant: 7 }, 'encrypted')).detail).toBe(
      'payload of encrypted cannot be searched: it is stored encrypted',
    )
    expect((await search({ tenant: 7 }, 'later')).jobs).toHaveLength(1)
    expect((await search({ card: { brand: 'visa' } }, 'later')).jobs).toHaveLength(1)
  })

  test('cannot be sent back by mistake: a replay with the mark in the place of a value is refused', async () => {
    const { payload } = await (await serving.ask(`/admin/dlq/${jobs.leaky}`)).json()
    const refused = await serving.call('POST', `/admin/dlq/${jobs.leaky}/replay`, { payload })
    expect([refused.status, (await refused.json()).detail]).toEqual([
      422,
      'payload has [redacted] in place of a redacted value; give the value itself',
    ])
  })

  test('is in no span of a trace', async () => {
    const traced = startTracing()
    const worker = await startWorker(serving.holdfast, [leaky], { logger, drain: 0 })
    onTestFinished(() => worker.stop())
    const { id } = await serving.holdfast.enqueue(leaky, payload)
    await eventually(async () => (await status(id)) === 'dead')
    const spans = traced.named('holdfast.attempt').map(({ attributes, events, status }) => ({ attributes, events, status }))
    expect(spans).toHaveLength(2)
    expect(JSON.stringify(spans)).toContain('[redacted]')
    expect(JSON.stringify(spans)).not.toContain(secret)
  })
})

test('no answer of any GET route has it, whatever is asked', async () => {
  const routes = Object.keys(rules)
    .filter((rule) => rule.startsWith('GET '))
    .map((rule) => rule.slice(4))
    // They lead a browser to another server, which this one does not have.
    .filter((route) => !route.startsWith('/session/oidc'))
  const bulk = await serving.holdfast.bulk({ action: 'cancel', filter: { type: 'later', tags: ['none'] } }, { by: 'ada' })
  const ids = [...Object.values(jobs), bulk.id, 'none']
  const part = encodeURIComponent(JSON.stringify({ card: { number: secret } }))
  const queries = [
    '',
    '?type=leaky',
    `?payload=${part}`,
    `?error=${secret}`,
    '?status=dead&limit=100',
    '?limit=100',
    '?payload={}',
  ]
  const [group] = await serving.holdfast.errorGroups.list({ type: 'leaky' })
  const [, asset = 'none'] = /assets\/([\w.-]+)/.exec(await (await serving.ask('/')).text()) ?? []
  const filled = (route: string, id: string) => {
    const name = route.includes('/lanes/') ? 'default' : schedule
    const fixed = route.replace(':fingerprint', group?.fingerprint ?? '').replace(':file', asset)
    return fixed.replace(':id', id).replace(':type', 'leaky').replace(':build', 'today').replace(':name', name)
  }
  const found = new Map<string, number>()
  let redactions = 0
  for (const route of routes) {
    const some = route.endsWith('/wait') ? ['?timeout=1ms'] : route.endsWith('/stream') ? [''] : queries
    const asks = (route.includes(':') ? ids : ['']).flatMap((id) => some.map((query) => filled(route, id) + query))
    const read = async (path: string) => {
      const headers = { authorization: `Bearer ${adminKey}` }
      const cut = new AbortController()
      const answer = await serving.ask(path, { signal: cut.signal, headers })
      return { path, ok: answer.ok, text: path.includes('/stream') ? await untilSilence(answer, cut) : await answer.text() }
    }
    for (const { path, ok, text } of await fewAtATime(asks, read)) {
      expect(text.includes(secret), `${path}: ${text.slice(0, 300)}`).toBe(false)
      if (ok) found.set(route, (found.get(route) ?? 0) + 1)
      if (text.includes('[redacted]')) redactions += 1
    }
  }
  // That the questions were answered at all, and that there was something to keep back.
  expect([...found.keys()]).toEqual(routes)
  expect(redactions).toBeGreaterThan(20)
}, 120_000)

/** All at once they would wait for each other, and on a busy machine for longer than a request may take. */
async function fewAtATime<In, Out>(all: readonly In[], run: (one: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = []
  const left = [...all]
  const next = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) results.push(await run(one))
  }
  await Promise.all(Array.from({ length: 8 }, next))
  return results
}

/** Of a stream its first event and what follows it closely: that of a job that waits never ends. */
async function untilSilence(answer: Response, cut: AbortController): Promise<string> {
  let text = ''
  let silence: NodeJS.Timeout | undefined
  try {
    for await (const part of answer.body ?? []) {
      text += Buffer.from(part).toString()
      clearTimeout(silence)
      if (text.includes('\n\n')) silence = setTimeout(() => cut.abort(), 1_000)
    }
  } catch {
    // Cut off.
  }
  clearTimeout(silence)
  return text
}
