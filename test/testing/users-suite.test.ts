/**
 * How a program's own tests look with vitest. Everything under test here is the made-up program at the top; the kit does
 * the rest. The README shows parts of this file.
 */
import { defineType, FatalError, type Holdfast } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

const outbox: string[] = []
let smtpIsDown = false

const sendEmail = defineType({
  type: 'send_email',
  payload: z.object({ to: z.email(), template: z.enum(['welcome', 'still_there']) }),
  lane: 'interactive',
  async run({ to, template }) {
    if (to.endsWith('@bounces.example')) throw new FatalError(`no such mailbox: ${to}`)
    if (smtpIsDown) throw new Error('smtp is down')
    outbox.push(`${template} to ${to}`)
  },
})

async function signUp(holdfast: Holdfast, to: string): Promise<void> {
  await holdfast.enqueue(sendEmail, { to, template: 'welcome' }, { idempotencyKey: `welcome:${to}` })
  await holdfast.enqueue(sendEmail, { to, template: 'still_there' }, { delay: '3d', priority: 1 })
}

describe('signing up', () => {
  let queue: ScratchQueue

  beforeEach(async () => {
    queue = await scratchQueue()
    outbox.length = 0
    smtpIsDown = false
  })
  afterEach(() => queue.close())

  test('enqueues a welcome now and a question in three days', async () => {
    await signUp(queue.holdfast, 'ada@example.com')
    await queue.assertEnqueued(sendEmail, { to: 'ada@example.com', template: 'welcome' }, { count: 1 })
    await queue.assertEnqueued(sendEmail, { template: 'still_there' }, { delay: '3d', priority: 1 })
    await queue.assertNotEnqueued(sendEmail, { to: 'bob@example.com' })
  })

  test('sends only the welcome today', async () => {
    await signUp(queue.holdfast, 'ada@example.com')
    const { completed } = await queue.drain([sendEmail])
    expect(completed).toHaveLength(1)
    expect(outbox).toEqual(['welcome to ada@example.com'])
  })

  test('sends the question three days later', async () => {
    await signUp(queue.holdfast, 'ada@example.com')
    await queue.drain([sendEmail])
    await queue.clock.advance('3d')
    await queue.drain([sendEmail])
    expect(outbox).toEqual(['welcome to ada@example.com', 'still_there to ada@example.com'])
  })

  test('greets nobody twice', async () => {
    await signUp(queue.holdfast, 'ada@example.com')
    await signUp(queue.holdfast, 'ada@example.com')
    await queue.assertEnqueued(sendEmail, { template: 'welcome' }, { count: 1 })
  })

  test('survives a mail server that is down for an hour', async () => {
    await signUp(queue.holdfast, 'ada@example.com')
    smtpIsDown = true
    const { failed } = await queue.drain([sendEmail])
    expect(failed[0]?.attempts[0]).toMatchObject({ outcome: 'failed', error: { message: 'smtp is down' } })
    smtpIsDown = false
    const { completed } = await queue.drain([sendEmail], { throughTime: true })
    expect(completed.map((job) => job.attempts.length)).toEqual([2, 1])
    expect(outbox).toEqual(['welcome to ada@example.com', 'still_there to ada@example.com'])
  })

  test('gives up at once on a mailbox that does not exist', async () => {
    await signUp(queue.holdfast, 'nobody@bounces.example')
    const { dead } = await queue.drain([sendEmail])
    expect(dead[0]?.attempts).toMatchObject([{ error: { message: 'no such mailbox: nobody@bounces.example' } }])
  })
})
