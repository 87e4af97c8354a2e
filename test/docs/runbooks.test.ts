/** Each runbook is rehearsed: the mess is made, its commands are typed as they stand, and it ends as the page says. */
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { chapters, stepsOf } from '../support/runbook.js'
import { startHere } from '../support/worker-here.js'

const statusOf = async ({ holdfast }: Queue, id: string) => (await holdfast.job(id))?.status
const gatesOf = async ({ holdfast }: Queue, id: string) => (await holdfast.explain(id))?.gates.map(({ gate }) => gate)

test('first of all: what is wrong, since when, and whether it is the database', async () => {
  const queue = await makeQueue()
  expect([...chapters.keys()]).toEqual([
    '# Runbooks',
    'A poison pill',
    'A slow dependency',
    'Workers run out of memory',
    'Packets are lost',
    'The database fails over',
    'A backlog that only grows',
    'A bad deploy',
    'Emergency: stop everything',
  ])
  const [all] = stepsOf('# Runbooks', queue)
  expect(await all?.()).toContain('fsync')
})

test('a poison pill is buried, looked at and replayed', async () => {
  const queue = await makeQueue()
  let mended = false
  const resize = defineType({
    type: 'resize_image',
    backoff: { base: '1h' },
    run() {
      if (!mended) throw new Error('out of memory')
    },
  })
  await startHere(queue, [resize])
  const { id } = await queue.holdfast.enqueue(resize, {})
  await eventually(async () => (await statusOf(queue, id)) === 'failed')
  const [bury, replay] = stepsOf('A poison pill', queue, id)
  expect(await bury?.()).toContain(id)
  expect(await statusOf(queue, id)).toBe('dead')
  mended = true
  await replay?.()
  await eventually(async () => (await statusOf(queue, id)) === 'completed')
})

test('a slow dependency takes two slots and no more, and nobody else waits', async () => {
  const queue = await makeQueue()
  const answers: (() => void)[] = []
  const sync = defineType({ type: 'sync_crm', run: () => new Promise<void>((answer) => void answers.push(answer)) })
  const mail = defineType({ type: 'send_email', run() {} })
  await startHere(queue, [sync, mail], { concurrency: 5 })
  await queue.holdfast.enqueueMany(Array.from({ length: 5 }, () => ({ type: sync, payload: {} })))
  await eventually(() => answers.length === 5)
  const [limit, open, restore] = stepsOf('A slow dependency', queue)
  expect(await limit?.()).toContain('sync_crm')
  const last = await queue.holdfast.enqueue(sync, {})
  for (const answer of answers.splice(0)) answer()
  await eventually(() => answers.length === 1)
  const more = await queue.holdfast.enqueueMany(Array.from({ length: 2 }, () => ({ type: sync, payload: {} })))
  const { id } = await queue.holdfast.enqueue(mail, {})
  await eventually(async () => (await statusOf(queue, id)) === 'completed')
  expect(await statusOf(queue, last.id)).toBe('processing')
  await eventually(async () => (await gatesOf(queue, more[1]?.id as string))?.includes('concurrency'))
  await open?.()
  await eventually(async () => (await gatesOf(queue, more[1]?.id as string))?.includes('breaker'))
  await restore?.()
  await eventually(() => answers.length === 3)
  for (const answer of answers) answer()
})

test('what needs the memory rests while the workers are started again', async () => {
  const queue = await makeQueue()
  const resize = defineType({ type: 'resize_image', run() {} })
  await startHere(queue, [resize])
  const [, pause, resume] = stepsOf('Workers run out of memory', queue)
  await stepsOf('Workers run out of memory', queue)[0]?.()
  await pause?.()
  const { id } = await queue.holdfast.enqueue(resize, {})
  expect(await gatesOf(queue, id)).toContain('type_paused')
  await resume?.()
  await eventually(async () => (await statusOf(queue, id)) === 'completed')
})

// The messes themselves are made in runbooks-network.long.test.ts.
test('where packets are lost or the database fails over, there is something to look at, and a lease to make longer', async () => {
  const queue = await makeQueue()
  await startHere(queue, [defineType({ type: 'send_email', run() {} })])
  for (const step of stepsOf('Packets are lost', queue)) await step()
  for (const step of stepsOf('The database fails over', queue)) await step()
  const audit = await queue.holdfast.audit()
  expect(audit.map(({ action }) => action).slice(0, 2)).toEqual(['set_lane', 'set_lane'])
})

test('a backlog lets everything else pass', async () => {
  const queue = await makeQueue()
  const ran: string[] = []
  const row = defineType({ type: 'import_row', run: () => void ran.push('row') })
  const mail = defineType({ type: 'send_email', run: () => void ran.push('mail') })
  await queue.holdfast.enqueueMany(Array.from({ length: 200 }, () => ({ type: row, payload: {} })))
  await queue.holdfast.enqueue(mail, {})
  const bulk = await startHere(queue, [defineType({ type: 'other', run() {} })])
  const [lower, limit, count] = stepsOf('A backlog that only grows', queue)
  await lower?.()
  await limit?.()
  expect(await count?.()).toContain('200')
  await bulk.stop()
  await startHere(queue, [row, mail], { concurrency: 1 })
  await eventually(() => ran.length === 201)
  expect(ran[0]).toBe('mail')
})

test('after a bad deploy its dead letters are replayed, one first, and no others', async () => {
  const queue = await makeQueue()
  let broken = true
  const mail = defineType({
    type: 'send_email',
    maxAttempts: 1,
    run({ to }: { to: string }) {
      if (to === 'nobody') throw new Error('no such address')
      if (broken) throw new Error('the template has no subject')
    },
  })
  await startHere(queue, [mail])
  const jobs = await queue.holdfast.enqueueMany(['ada', 'grace', 'nobody'].map((to) => ({ type: mail, payload: { to } })))
  const statuses = () => Promise.all(jobs.map(({ id }) => statusOf(queue, id)))
  await eventually(async () => (await statuses()).every((status) => status === 'dead'))
  const [stop, replay] = stepsOf('A bad deploy', queue)
  expect(await stop?.()).toContain('the template has no subject')
  broken = false
  await replay?.()
  await eventually(async () => (await statuses()).join() === 'completed,completed,dead')
})

test('everything stops at one command, and goes on type by type', async () => {
  const queue = await makeQueue()
  const mail = defineType({ type: 'send_email', run() {} })
  const sync = defineType({ type: 'sync_crm', run() {} })
  await startHere(queue, [mail, sync])
  const [stop, resume] = stepsOf('Emergency: stop everything', queue)
  await stop?.()
  const { id } = await queue.holdfast.enqueue(sync, {})
  expect(await gatesOf(queue, id)).toContain('type_paused')
  await resume?.()
  await eventually(async () => (await statusOf(queue, id)) === 'completed')
})
