import { defineType, FatalError, Holdfast } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { eachTestHas, type FreshInstallation } from '../support/fresh-installation.js'
import { runProgram } from '../support/processes.js'
import { isSigned, startReceiver } from '../support/receiver.js'

let made: FreshInstallation
eachTestHas({}, (fresh) => {
  made = fresh
})
const opened: (() => Promise<unknown>)[] = []
// Before the database is dropped, and so not onTestFinished.
afterEach(async () => void (await Promise.all(opened.splice(0).map((close) => close()))))

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const lines: unknown[] = []
const note = (...said: unknown[]) => void lines.push(said)
const logger = { info: note, warn: note, error: note }
const run = ({ dies }: { dies?: boolean }) => {
  if (dies) throw new FatalError('no such address')
}
const mail = (url: string) => defineType({ type: 'mail', webhook: { url, secret }, limits: { breaker: false }, run })

async function working(types: Parameters<typeof startWorker>[1], host: string): Promise<[Holdfast, Worker]> {
  const holdfast = new Holdfast({ connectionString: made.scratch.connectionString, alertHosts: [host] })
  const worker = await startWorker(holdfast, types, { logger })
  opened.push(() => worker.stop().then(() => holdfast.close()))
  return [holdfast, worker]
}

const deliveries = async () =>
  (
    await made.sql.query(`select b.id, b.payload from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
                         where t.name = 'holdfast:webhook' order by b.id`)
  ).rows

describe('a webhook of a type', () => {
  test('is a signed request for each job that completed or died, sent by a job, and shows its secret nowhere', async () => {
    const receiver = await startReceiver()
    const [holdfast] = await working([mail(receiver.url)], receiver.host)
    const { id } = await holdfast.enqueue('mail', {}, { tags: ['eu'] })
    await eventually(() => receiver.received.length === 1)
    const { id: dead } = await holdfast.enqueue('mail', { dies: true })
    const { id: unwanted } = await holdfast.enqueue('mail', {}, { delay: '1h' })
    await holdfast.cancel(unwanted, { by: 'grace' })
    await eventually(() => receiver.received.length === 2)
    expect(receiver.received.map(({ message }) => message)).toEqual([
      {
        ...{ type: 'job.completed', timestamp: expect.stringMatching(/Z$/) },
        data: { job: id, type: 'mail', tags: ['eu'], attempt: 1, reason: null, error: null },
      },
      {
        ...{ type: 'job.dead', timestamp: expect.stringMatching(/Z$/) },
        data: {
          job: dead,
          type: 'mail',
          tags: [],
          attempt: 1,
          reason: 'fatal',
          error: { name: 'FatalError', message: 'no such address' },
        },
      },
    ])
    const sent = await deliveries()
    expect(receiver.received.map((one) => [one.id, isSigned(one, secret)])).toEqual(sent.map((job) => [`msg_${job.id}`, true]))
    const shown = JSON.stringify([
      lines,
      sent,
      await holdfast.job(sent[0].id),
      await holdfast.explain(sent[0].id),
      receiver.received,
    ])
    expect(shown).not.toContain(secret.slice(6))
  })

  test('is tried again with the same id until it is accepted, and never follows a redirect', async () => {
    const receiver = await startReceiver((response) => response.writeHead(503).end())
    const [holdfast] = await working([mail(receiver.url)], receiver.host)
    await holdfast.enqueue('mail', {})
    await eventually(() => receiver.received.length === 1)
    receiver.answerWith((response) => response.writeHead(204).end())
    const [{ id }] = await deliveries()
    await eventually(async () => (await holdfast.job(id))?.status === 'failed')
    await holdfast.runNow(id, { by: 'grace' })
    await holdfast.wait(id)
    expect(new Set(receiver.received.map((one) => one.id))).toEqual(new Set([`msg_${id}`]))
    receiver.answerWith((response) => response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end())
    await holdfast.enqueue('mail', {})
    await eventually(async () => (await holdfast.deadLetters.list()).letters.length === 1)
    const [letter] = (await holdfast.deadLetters.list()).letters
    expect(letter).toMatchObject({
      type: 'holdfast:webhook',
      error: { message: expect.stringContaining('redirects are not followed') },
    })
  })

  test('goes where alerts may go and nowhere else, and is gone when the definition has none', async () => {
    const receiver = await startReceiver()
    await expect(startWorker(made.holdfast, [mail(receiver.url)], { logger })).rejects.toThrow(/webhook.url.*of mail.*alertHosts/)
    for (const [webhook, field] of [
      [{ url: 'https://example.com', secret: 'short' }, 'webhook.secret'],
      [{ url: 1, secret }, 'webhook.url'],
      [{ url: 'https://example.com', secret, on: ['exploded'] }, 'webhook.on'],
      [{ url: 'https://example.com', secret, in: [] }, 'webhook.in'],
      ['https://example.com', 'webhook'],
    ]) {
      expect(() => defineType({ type: 'mail', webhook: webhook as never })).toThrow(expect.objectContaining({ field }))
    }
    const [, first] = await working([mail(receiver.url)], receiver.host)
    await first.stop()
    const [holdfast] = await working([defineType({ type: 'mail', run })], receiver.host)
    await holdfast.wait(await holdfast.enqueue('mail', {}))
    expect(await deliveries()).toEqual([])
  })
})

test('kill -9 before or after the settle loses no webhook of type or job and no reaction, and doubles none', {
  timeout: 60_000,
}, async () => {
  const receiver = await startReceiver()
  const { connectionString: database } = made.scratch
  const settings = { database, host: receiver.host, url: receiver.url, secret, worker: { lease: '2s' } }
  await made.holdfast.registerTypes([defineType({ type: 'mail' }), defineType({ type: 'mourn', lane: 'maintenance' })])
  const producer = new Holdfast({ connectionString: database, alertHosts: [receiver.host] })
  opened.push(() => producer.close())
  const ids: Record<'dead' | 'completed', string[]> = { dead: [], completed: [] }
  for (const [kill, dies] of [
    ['before', true],
    ['after', true],
    ['after', false],
  ] as const) {
    const webhook = { url: `${receiver.url}/own`, secret }
    ids[dies ? 'dead' : 'completed'].push((await producer.enqueue('mail', { kill, dies }, { webhook })).id)
    expect((await runProgram('webhook-program', settings).exited).signal).toBe('SIGKILL')
  }
  const last = runProgram('webhook-program', settings)
  await eventually(() => new Set(receiver.received.map(({ id }) => id)).size === 6)
  await last.kill()
  for (const id of ids.dead) expect((await made.holdfast.job(id))?.status).toBe('dead')
  // A webhook may be sent again when its sender was killed; it then has the same id.
  const told = new Map(receiver.received.map(({ id, path, message }) => [id, `${path} ${message.data.job}`]))
  const jobs = [...ids.dead, ...ids.completed]
  expect([...told.values()].sort()).toEqual([...jobs.map((id) => `/hook ${id}`), ...jobs.map((id) => `/hook/own ${id}`)].sort())
  expect(await deliveries()).toHaveLength(6)
  const { rows } = await made.sql.query(`select b.payload ->> 'job' as job from holdfast.bodies as b
                                         join holdfast.types as t on t.id = b.type_id where t.name = 'mourn' order by 1`)
  expect(rows.map(({ job }) => job)).toEqual(ids.dead.sort())
})
