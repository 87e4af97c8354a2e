import { createHmac } from 'node:crypto'
import { defineType, FatalError, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test, vi } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startReceiver } from '../support/receiver.js'
import { quiet } from '../support/serving.js'

const [hooks = '', reactions = '', ofType = '', ofJob = ''] = blocks(docsPage('hooks.md'), 'js')

test('docs/hooks.md has hooks and reactions that run as they stand', async () => {
  const { holdfast } = await makeQueue()
  const [failed, dead, given] = [vi.fn(), vi.fn(), vi.fn()]
  const names = {
    ...{
      holdfast,
      defineType,
      startWorker: (at: never, types: never, options = {}) => startWorker(at, types, { logger: quiet, ...options }),
    },
    ...{ metrics: { count: failed }, console: { error: dead }, giveBack: given },
    deliver(to: string) {
      throw to === 'nobody' ? new FatalError('no such address') : new Error('try again')
    },
    pay() {
      throw new FatalError('no such card')
    },
  }
  const mailing = await runExample(`${hooks}; return worker`, names)
  await holdfast.enqueue('send_email', { to: 'ada@example.com' })
  const mail = await holdfast.enqueue('send_email', { to: 'nobody' })
  await eventually(() => failed.mock.calls.length > 0 && dead.mock.calls.length > 0)
  expect(failed).toHaveBeenCalledWith('mail_failed', { attempt: 1 })
  expect(dead).toHaveBeenCalledWith('send_email', mail.id, 'fatal', 'no such address')
  await mailing.stop()
  const charging = await runExample(`${reactions}; return startWorker(holdfast, [charge, refund])`, names)
  const charge = await holdfast.enqueue('charge', { order: 7 })
  await eventually(() => given.mock.calls.length > 0)
  expect(given.mock.calls).toEqual([[charge.id, 'fatal']])
  await charging.stop()
})

test('docs/hooks.md has webhooks that are sent as it says, in the shape it shows', async () => {
  const queue = await makeQueue()
  const receiver = await startReceiver()
  const holdfast = new Holdfast({ connectionString: queue.url, alertHosts: [receiver.host] })
  onTestFinished(() => holdfast.close())
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const names = {
    ...{
      holdfast,
      defineType,
      process: { env: { WEBHOOK_SECRET: secret } },
      customer: { url: `${receiver.url}/customer`, secret },
    },
    pay() {
      throw new FatalError('no such card')
    },
  }
  const example = `${ofType.replace('https://hooks.example.com/charges', receiver.url)}; ${ofJob}; return charge`
  const worker = await startWorker(holdfast, [await runExample(example, names)], { logger: quiet })
  onTestFinished(() => worker.stop())
  await eventually(() => receiver.received.length === 2)
  expect(receiver.received.map(({ path }) => path).sort()).toEqual(['/hook', '/hook/customer'])
  const shown = JSON.parse(blocks(docsPage('hooks.md'), 'json')[0] as string)
  for (const { message, headers, body } of receiver.received) {
    expect([Object.keys(message), Object.keys(message.data).sort()]).toEqual([Object.keys(shown), Object.keys(shown.data).sort()])
    expect(message.type).toBe(shown.type)
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const signature = createHmac('sha256', Buffer.alloc(32, 7)).update(content).digest('base64')
    expect(headers['webhook-signature']).toBe(`v1,${signature}`)
  }
})
