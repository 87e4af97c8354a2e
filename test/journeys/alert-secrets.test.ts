import { randomBytes } from 'node:crypto'
import { Holdfast, type HoldfastOptions } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { isSigned, startReceiver } from '../support/receiver.js'
import { quiet } from '../support/serving.js'

const who = { by: 'ada' }
const keys = { old: randomBytes(32).toString('base64'), new: randomBytes(32).toString('base64') }
const withOld = { encryption: { keys: { old: keys.old }, current: 'old' } }
const withBoth = { encryption: { keys, current: 'new' } }
const withNew = { encryption: { keys: { new: keys.new }, current: 'new' } }

async function setUp() {
  const queue = await makeQueue()
  const receiver = await startReceiver()
  /** The same database, seen by a process with these settings. */
  const as = (options: HoldfastOptions) => {
    const holdfast = new Holdfast({ connectionString: queue.url, alertHosts: [receiver.host], ...options })
    onTestFinished(() => holdfast.close())
    return holdfast
  }
  return {
    receiver,
    as,
    sql: queue.sql,
    /** How a call to the target ends that a worker with these settings makes, and what the receiver got. */
    async callAs(options: HoldfastOptions, target: number) {
      const holdfast = as(options)
      const worker = await startWorker(holdfast, [], { logger: quiet, alerts: true })
      const { job } = await holdfast.alerts.testTarget(target, who)
      const ended = await eventually(async () => {
        const story = await holdfast.job(job)
        return story && ['completed', 'dead'].includes(story.status) ? story : undefined
      })
      await worker.stop()
      const got = receiver.received.find(({ id }) => id === `msg_${job}`)
      return { ended, signedWith: (secret: string) => got !== undefined && isSigned(got, secret) }
    },
  }
}

test('while a secret is replaced calls are signed with both, and after the grace with the new one alone', async () => {
  const { receiver, as, callAs } = await setUp()
  const holdfast = as({})
  const { id, secret: first } = await holdfast.alerts.addTarget({ url: receiver.url }, who)
  const { secret: second } = await holdfast.alerts.rotateSecret(id, who, { grace: '1h' })
  const during = await callAs({}, id)
  expect([first, second].map(during.signedWith)).toEqual([true, true])
  await insideOf(holdfast).store.moveClock({ byMs: 3_600_001 })
  const after = await callAs({}, id)
  expect([first, second].map(after.signedWith)).toEqual([false, true])
  const { secret: third } = await holdfast.alerts.rotateSecret(id, who, { grace: 0 })
  const atOnce = await callAs({}, id)
  expect([second, third].map(atOnce.signedWith)).toEqual([false, true])
})

test('with keys secrets are stored encrypted, bound to their address, and a worker without the key says which it lacks', async () => {
  const { receiver, as, sql, callAs } = await setUp()
  const { id } = await as(withOld).alerts.addTarget({ url: receiver.url }, who)
  const { secret } = await as(withOld).alerts.rotateSecret(id, who)
  const [stored] = await sql('select secret, old_secret from holdfast.alert_targets')
  for (const text of [stored?.secret, stored?.old_secret]) expect(text).toMatch(/^\{"\$enc":\{"k":"old"/)
  expect((await callAs(withOld, id)).signedWith(secret)).toBe(true)
  const without = await callAs({}, id)
  expect(without.ended).toMatchObject({ status: 'dead', attempts: [{ error: { message: expect.stringContaining('"old"') } }] })
  await sql(`update holdfast.alert_targets set url = url || '?moved'`)
  const { ended } = await callAs(withOld, id)
  expect(ended).toMatchObject({ attempts: [{ error: { message: expect.stringContaining('was encrypted for another target') } }] })
})

test('re-encryption takes secrets along, plain ones and those of an older key, and a lost key is got over by a new secret', async () => {
  const { receiver, as, sql, callAs } = await setUp()
  const { id, secret: first } = await as({}).alerts.addTarget({ url: receiver.url }, who)
  const { secret: second } = await as(withOld).alerts.rotateSecret(id, who)
  expect(await as(withBoth).reencrypt()).toMatchObject({ looked: 1, encrypted: 1, unreadable: {} })
  const [stored] = await sql('select secret, old_secret from holdfast.alert_targets')
  for (const text of [stored?.secret, stored?.old_secret]) expect(text).toMatch(/^\{"\$enc":\{"k":"new"/)
  const taken = await callAs(withNew, id)
  expect([first, second].map(taken.signedWith)).toEqual([true, true])
  expect(await as(withBoth).reencrypt()).toMatchObject({ encrypted: 0 })
  expect(Object.keys((await as(withOld).reencrypt()).unreadable)).toEqual([expect.stringContaining('the key "new"')])
  const { secret: third } = await as(withOld).alerts.rotateSecret(id, who)
  const { ended, signedWith } = await callAs(withOld, id)
  expect(ended.status).toBe('completed')
  expect([second, third].map(signedWith)).toEqual([false, true])
})
