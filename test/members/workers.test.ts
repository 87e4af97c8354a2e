import { setTimeout as pause } from 'node:timers/promises'
import { defineType } from 'holdfast'
import { startWorkers } from 'holdfast/worker'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeMembers, workFor } from '../support/members.js'

const quiet = { info() {}, warn() {}, error() {} }

test('one process serves all members with slots that they share: one member may have all, and none goes without', async () => {
  const { holdfasts } = await makeMembers(['eu', 'us'])
  const atOnce = { most: 0, now: 0 }
  const ended: string[] = []
  const backlog = 2_000
  let slow = true
  const type = defineType({
    type: 'work',
    async run(member: string) {
      atOnce.now += 1
      atOnce.most = Math.max(atOnce.most, atOnce.now)
      if (slow) await pause(20)
      atOnce.now -= 1
      ended.push(member)
    },
  })
  await holdfasts.registerTypes([type])
  await holdfasts.enqueueMany(
    Array.from({ length: backlog }, () => type.job('eu')),
    { member: 'eu' },
  )
  const workers = await workFor(holdfasts, [type], { concurrency: 4 })
  // The backlog of one has all slots when the first job of the other comes.
  await eventually(() => workers.member('eu')?.health().running === 4)
  const { id } = await holdfasts.enqueue(type, 'us', { member: 'us' })
  await holdfasts.wait(id)
  expect(ended.length).toBeLessThan(backlog)
  slow = false
  await eventually(() => ended.length === backlog + 1)
  expect(atOnce.most).toBe(4)
})

test('of two backlogs none goes without slots', async () => {
  const { holdfasts } = await makeMembers(['eu', 'us'])
  const ended: string[] = []
  const type = defineType({
    type: 'work',
    async run(member: string) {
      await pause(10)
      ended.push(member)
    },
  })
  await holdfasts.registerTypes([type])
  for (const member of ['eu', 'us']) {
    await holdfasts.enqueueMany(
      Array.from({ length: 150 }, () => type.job(member)),
      { member },
    )
  }
  await workFor(holdfasts, [type], { concurrency: 1 })
  await eventually(() => ended.length >= 100, { within: 60_000 })
  // As many each where both databases answer in time (src/run/shared-slots.test.ts); on a busy machine one may be slower than the other.
  const first = ended.slice(0, 100).filter((member) => member === 'eu').length
  expect(first).toBeGreaterThan(5)
  expect(first).toBeLessThan(95)
}, 90_000)

test('a member that is away, from the start or later, stops no other, is named in health, and is served when it is back', async () => {
  const { holdfasts, proxies } = await makeMembers(['eu', 'us'])
  const type = defineType({ type: 'work', run: () => 'done' })
  await holdfasts.registerTypes([type])
  const { id: first } = await holdfasts.enqueue(type, 1, { member: 'us' })
  const away = () => {
    proxies.us?.refuse()
    proxies.us?.cut()
  }
  away()
  const told: string[] = []
  const workers = await workFor(holdfasts, [type], { unhealthyAfter: '1s', lease: '2s' })
  workers.events.on('job.completed', ({ member }) => told.push(member))
  await eventually(() => workers.health().members.eu?.status === 'ok' && workers.health().members.us?.status === 'unhealthy')
  expect(workers.health().status).toBe('ok')
  expect(workers.health().warnings?.join()).toMatch(/^us: its worker could not start: /)
  expect(await holdfasts.wait((await holdfasts.enqueue(type, 1, { member: 'eu' })).id)).toBe('done')
  await proxies.us?.heal()
  expect(await holdfasts.wait(first)).toBe('done')
  // Whoever waits may hear of the end before the worker does.
  await eventually(() => told.join() === 'eu,us')
  await eventually(() => workers.health().members.us?.status === 'ok')
  away()
  await eventually(() => workers.health().members.us?.status === 'unhealthy')
  expect(await holdfasts.wait((await holdfasts.enqueue(type, 1, { member: 'eu' })).id)).toBe('done')
  await eventually(() => workers.health().status === 'ok')
  await proxies.us?.heal()
  await eventually(() => workers.health().members.us?.status === 'ok')
  const { id: last } = await holdfasts.enqueue(type, 1, { member: 'us' })
  expect(await holdfasts.wait(last)).toBe('done')
}, 60_000)

test('workers do not start where no member answers, where one is another than it is believed to be, or without handlers', async () => {
  const { holdfasts, another, proxies, urls, sql } = await makeMembers(['eu', 'us'])
  const type = defineType({ type: 'work', run: () => {} })
  await expect(startWorkers(holdfasts, [], { logger: quiet })).rejects.toMatchObject({ code: 'missing_handler' })
  const mixed = { eu: urls.us as string, us: urls.eu as string }
  Object.assign(urls, mixed)
  await expect(startWorkers(another(), [type], { logger: quiet })).rejects.toThrow(/the addresses are mixed up/)
  for (const proxy of Object.values(proxies)) {
    proxy.refuse()
    proxy.cut()
  }
  await expect(startWorkers(holdfasts, [type], { logger: quiet })).rejects.toMatchObject({ code: 'database_unavailable' })
  expect(await sql('eu', 'select from holdfast.workers where stopped_at is null')).toEqual([])
})
