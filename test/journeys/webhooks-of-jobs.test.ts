import { randomBytes } from 'node:crypto'
import { defineType, FatalError, Holdfast, type HoldfastOptions, type JobRequest } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { createServer } from 'holdfast/server'
import { startWorker, type Worker } from 'holdfast/worker'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { eachTestHas, type FreshInstallation } from '../support/fresh-installation.js'
import { isSigned, startReceiver } from '../support/receiver.js'
import { adminKey, quiet } from '../support/serving.js'

let made: FreshInstallation
let receiver: Awaited<ReturnType<typeof startReceiver>>
eachTestHas({}, (fresh) => {
  made = fresh
})
beforeEach(async () => {
  receiver = await startReceiver()
})
const opened: (() => Promise<unknown>)[] = []
// Before the database is dropped, and so not onTestFinished.
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const older = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const mail = defineType({
  type: 'mail',
  limits: { breaker: false },
  run({ dies }: { dies?: boolean }) {
    if (dies) throw new FatalError('no such address')
  },
})

function holdfastWith(options: HoldfastOptions = {}): Holdfast {
  const holdfast = new Holdfast({ connectionString: made.scratch.connectionString, alertHosts: [receiver.host], ...options })
  opened.push(() => holdfast.close())
  return holdfast
}

async function work(holdfast: Holdfast): Promise<Worker> {
  const worker = await startWorker(holdfast, [mail], { logger: quiet })
  opened.push(() => worker.stop())
  return worker
}

const told = () => receiver.received.map(({ path, message: { type, data } }) => [path, type, data.job]).sort()
const stored = async () =>
  (await made.sql.query('select job_id, url, kinds, secrets from holdfast.job_webhooks order by job_id')).rows

describe('a webhook of a job', () => {
  test('to a host of the own network is left to another worker by one that does not name the host', async () => {
    const producer = holdfastWith()
    const one = await producer.enqueue(mail, {}, { webhook: { url: receiver.url, secret } })
    const other = await work(holdfastWith({ alertHosts: [] }))
    const delivery = await eventually(async () => (await producer.jobs({ type: 'holdfast:webhook', status: 'failed' })).jobs[0])
    expect((await producer.job(delivery.id))?.attempts.at(-1)?.error).toMatchObject({
      message: expect.stringMatching(/only hosts named in alertHosts .*, and this worker names others$/),
    })
    await other.stop()
    await work(producer)
    await producer.runNow(delivery.id, { by: 'grace' })
    await eventually(() => receiver.received.length === 1)
    expect(told()).toEqual([['/hook', 'job.completed', one.id]])
  })

  test('is a signed request for its own events alone, whether the job came alone, with many, in a transaction, in a batch or over HTTP', async () => {
    const holdfast = holdfastWith()
    const server = createServer(holdfast, { adminKey, logger: quiet })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    opened.push(() => server.close())
    const client = new HoldfastClient({ url, key: adminKey })
    const at = (path: string) => ({ webhook: { url: `${receiver.url}/${path}`, secret } })
    const one = await holdfast.enqueue(mail, {}, { ...at('one'), tags: ['eu'] })
    const [, second] = await holdfast.enqueueMany([mail.job({}), mail.job({ dies: true }, at('second')), mail.job({})])
    await made.sql.query('begin')
    const inTx = await holdfast.enqueue(mail, {}, { ...at('tx'), tx: made.sql })
    await made.sql.query('commit')
    const batch = await holdfast.batches.create({
      jobs: [mail.job({}, at('member'))],
      onComplete: mail.job({}, at('callback')),
    })
    const remote = await client.enqueue(mail, {}, at('http'))
    const cancelled = await holdfast.enqueue(mail, {}, { delay: '1h', webhook: { url: receiver.url, on: ['cancelled'], secret } })
    const untold = await holdfast.enqueue(mail, {}, { webhook: { url: receiver.url, on: ['dead'], secret } })
    await holdfast.cancel(cancelled.id, { by: 'grace' })
    await work(holdfast)
    await holdfast.wait(untold)
    await eventually(() => receiver.received.length === 7)
    const { callbacks } = (await holdfast.batches.get(batch.id)) as { callbacks: { job: string }[] }
    expect(told()).toEqual(
      [
        ['/hook/one', 'job.completed', one.id],
        ['/hook/second', 'job.dead', second?.id],
        ['/hook/tx', 'job.completed', inTx.id],
        ['/hook/member', 'job.completed', batch.jobs[0]?.id],
        ['/hook/callback', 'job.completed', callbacks[0]?.job],
        ['/hook/http', 'job.completed', remote.id],
        ['/hook', 'job.cancelled', cancelled.id],
      ].sort(),
    )
    const first = receiver.received.find(({ path }) => path === '/hook/one')
    expect(first?.message.data).toEqual({ job: one.id, type: 'mail', tags: ['eu'], attempt: 1, reason: null, error: null })
    expect(receiver.received.every((request) => isSigned(request, secret))).toBe(true)
    const shown = JSON.stringify([await holdfast.job(one.id), await holdfast.jobs(), await client.job(remote.id)])
    expect(shown).not.toContain(secret.slice(6))
  })

  test('comes beside that of its type, and each is signed with both secrets while one takes the place of the other', async () => {
    const holdfast = holdfastWith()
    const typed = defineType({ type: 'mail', webhook: { url: `${receiver.url}/type`, secret: [secret, older] }, run() {} })
    const worker = await startWorker(holdfast, [typed], { logger: quiet })
    opened.push(() => worker.stop())
    const { id } = await holdfast.enqueue(typed, {}, { webhook: { url: `${receiver.url}/job`, secret: [secret, older] } })
    await eventually(() => receiver.received.length === 2)
    expect(told()).toEqual([
      ['/hook/job', 'job.completed', id],
      ['/hook/type', 'job.completed', id],
    ])
    for (const request of receiver.received) expect([isSigned(request, secret), isSigned(request, older)]).toEqual([true, true])
    expect(new Set(receiver.received.map((request) => request.id)).size).toBe(2)
  })

  test('is refused where that of a type would be, and then no job is stored', async () => {
    const holdfast = holdfastWith({ alertHosts: [] })
    await holdfast.registerTypes([mail])
    const server = createServer(holdfast, { adminKey, logger: quiet })
    opened.push(() => server.close())
    for (const [webhook, field] of [
      [{ url: receiver.url, secret }, 'webhook.url'],
      [{ url: 'https://10.0.0.7/hook', secret }, 'webhook.url'],
      [{ url: 'https://me:too@example.com', secret }, 'webhook.url'],
      [{ url: 1, secret }, 'webhook.url'],
      [{ url: 'https://example.com', secret: 'short' }, 'webhook.secret'],
      [{ url: 'https://example.com', secret: [secret, older, secret] }, 'webhook.secret'],
      [{ url: 'https://example.com', secret: [] }, 'webhook.secret'],
      [{ url: 'https://example.com', secret, on: ['exploded'] }, 'webhook.on'],
      ['https://example.com', 'webhook'],
    ] as const) {
      const jobs = [mail.job({}), mail.job({}, { webhook: webhook as never })]
      await expect(holdfast.enqueueMany(jobs)).rejects.toMatchObject({ code: 'invalid_option', field, index: 1 })
      const payload = { type: 'mail', payload: {}, webhook }
      const answer = await server.inject({
        method: 'POST',
        url: '/jobs',
        payload,
        headers: { authorization: `Bearer ${adminKey}` },
      })
      expect([answer.statusCode, answer.json().field.split('[')[0]]).toEqual([400, field])
      expect(answer.body).not.toContain('short')
    }
    expect(await stored()).toEqual([])
    expect((await made.sql.query('select from holdfast.bodies')).rowCount).toBe(0)
  })

  test('stays with a job whose payload is replaced, unless the newer has its own, and goes when the job is forgotten', async () => {
    const holdfast = holdfastWith()
    const unique = { key: 'ada', onConflict: 'replace' } as const
    const webhook = (path: string) => ({ url: `${receiver.url}/${path}`, secret })
    const later = (more: Partial<JobRequest> = {}) => holdfast.enqueue(mail, {}, { unique, delay: '1h', ...more } as never)
    const { id } = await later({ webhook: webhook('first') })
    expect((await later()).status).toBe('replaced')
    expect(await stored()).toMatchObject([{ job_id: id, url: `${receiver.url}/first` }])
    await later({ webhook: webhook('second') })
    expect(await stored()).toMatchObject([{ job_id: id, url: `${receiver.url}/second` }])
    await holdfast.runNow(id, { by: 'grace' })
    await work(holdfast)
    await eventually(() => receiver.received.length === 1)
    expect(told()).toEqual([['/hook/second', 'job.completed', id]])
    await holdfast.forget(id, { by: 'grace' })
    expect(await stored()).toEqual([])
  })

  test('has its secrets encrypted where there are keys, and with the new key once everything is', async () => {
    const keys = { old: randomBytes(32).toString('base64'), new: randomBytes(32).toString('base64') }
    const first = holdfastWith({ encryption: { keys: { old: keys.old }, current: 'old' } })
    await first.enqueue(mail, {}, { webhook: { url: receiver.url, secret: [secret, older] } })
    const keysInUse = async () => (await stored())[0].secrets.map((text: string) => JSON.parse(text).$enc.k)
    expect(await keysInUse()).toEqual(['old', 'old'])
    await holdfastWith({ encryption: { keys, current: 'new' } }).reencrypt()
    expect(await keysInUse()).toEqual(['new', 'new'])
    await work(holdfastWith({ encryption: { keys: { new: keys.new }, current: 'new' } }))
    await eventually(() => receiver.received.length === 1)
    for (const request of receiver.received) expect([isSigned(request, secret), isSigned(request, older)]).toEqual([true, true])
  })
})
