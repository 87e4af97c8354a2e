import { setTimeout as pause } from 'node:timers/promises'
import { defineType } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { readMeasured, scrape } from '../support/measured.js'
import { makeQueue } from '../support/queue.js'
import { quiet } from '../support/serving.js'

const who = { by: 'ada', why: 'its mails have no subject' }
const mail = defineType({ type: 'mail', maxAttempts: 1, limits: { breaker: false }, run: async () => {} })

async function setUp() {
  const queue = await makeQueue()
  const start = async (build: string | undefined, type = mail, more: object = {}) => {
    const worker = await startWorker(queue.holdfast, [type], { ...(build && { build }), logger: quiet, ...more })
    onTestFinished(() => worker.stop({ now: true }))
    return worker
  }
  const ran = async (id: string) =>
    eventually(async () => {
      const [attempt] = (await queue.holdfast.job(id))?.attempts ?? []
      return attempt ?? false
    })
  return { ...queue, start, ran, builds: queue.holdfast.flow.builds }
}

const drained = (worker: Worker) => worker.health().warnings?.some((warning) => warning.includes('ada')) ?? false

test('an attempt says which code ran it, and goes on to say so when its worker is gone', async () => {
  const { holdfast, start, ran, builds } = await setUp()
  const worker = await start('2.4.1')
  const { id } = await holdfast.enqueue(mail, {})
  expect(await ran(id)).toMatchObject({ outcome: 'completed', build: '2.4.1' })
  await worker.stop()
  expect((await holdfast.job(id))?.attempts).toMatchObject([{ build: '2.4.1' }])
  expect(await builds.list()).toMatchObject([{ build: '2.4.1', workers: 0, completed: 1, failed: 0, drained: null }])
  const measured = readMeasured(await scrape(holdfast))
  expect(measured.get('holdfast_build_attempts_total{build="2.4.1",outcome="completed"}')).toBe(1)
  expect(measured.get('holdfast_build_workers{build="2.4.1"}')).toBe(0)
})

test('a worker without a build has none, and nothing is counted for it', async () => {
  const { holdfast, sql, start, ran, builds } = await setUp()
  const worker = await start(undefined)
  const { id } = await holdfast.enqueue(mail, {})
  expect(await ran(id)).toMatchObject({ build: null })
  await worker.stop()
  expect(await builds.list()).toEqual([])
  expect(await sql('select from holdfast.build_counts')).toEqual([])
})

test('a build is told to drain while its jobs run: they end, no worker of it claims another, and others do', async () => {
  const { holdfast, start, ran, builds } = await setUp()
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = defineType({ type: 'mail', maxAttempts: 1, limits: { breaker: false }, run: () => held })
  const old = await start('old', slow, { name: 'old' })
  const { id: running } = await holdfast.enqueue(mail, {})
  await eventually(() => old.health().running === 1)
  await builds.drain('old', who)
  await eventually(() => drained(old))
  // One that starts later was told before it claims.
  const late = await start('old', mail, { name: 'late' })
  expect(drained(late)).toBe(true)
  const { id: waiting } = await holdfast.enqueue(mail, {})
  expect((await holdfast.explain(waiting))?.gates[0]).toMatchObject({ gate: 'no_worker' })
  expect((await builds.list())[0]).toMatchObject({ drained: who, workers: 2 })
  release()
  expect(await ran(running)).toMatchObject({ outcome: 'completed', worker: 'old' })
  await eventually(() => old.health().running === 0)
  await start('new', mail, { name: 'new' })
  expect(await ran(waiting)).toMatchObject({ worker: 'new', build: 'new' })

  await builds.resume('old', who)
  await eventually(() => !drained(old) && !drained(late))
  const changes = (await holdfast.audit({ actor: 'ada' })).map(({ action, target }) => `${action} ${target}`)
  expect(changes.sort()).toEqual(['drain_build old', 'resume_build old'])
})

test('an order to drain is remembered when no worker of the build is known any more, and other builds are forgotten', async () => {
  const { sql, start, builds } = await setUp()
  for (const build of ['fine', 'broken', 'late']) await (await start(build)).stop()
  await builds.drain('broken', who)
  await sql("update holdfast.builds set first_seen = first_seen - interval '36 days'")
  // Charts of the last 35 days mark when it was new.
  await sql("update holdfast.builds set first_seen = first_seen + interval '2 days' where name = 'late'")
  await sql('delete from holdfast.workers')
  await sql('select holdfast.sweep_builds()')
  expect(await builds.list()).toMatchObject([{ build: 'late' }, { build: 'broken', drained: who }])
  expect(drained(await start('broken'))).toBe(true)
})

test('a build that nobody has is refused by name, and so is a name that cannot be one', async () => {
  const { holdfast, start, builds } = await setUp()
  await expect(builds.drain('2.4.1', who)).rejects.toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('HOLDFAST_BUILD'),
  })
  await start('2.4.1')
  await expect(builds.drain('2.4.2', who)).rejects.toMatchObject({ message: expect.stringContaining('did you mean "2.4.1"') })
  await expect(builds.canary('2.4.1', { baseline: '2.3' })).rejects.toMatchObject({ code: 'not_found', field: 'build' })
  await expect(builds.canary('2.4.1', { baseline: '2.4.1' })).rejects.toMatchObject({ field: 'baseline' })
  await expect(startWorker(holdfast, [mail], { build: 'with a space', logger: quiet })).rejects.toMatchObject({ field: 'build' })
})

test('a build that is slower than the one before is found out by its slowest attempts', async () => {
  const { holdfast, sql, start, builds } = await setUp()
  const lasting = (ms: number) => defineType({ type: 'mail', limits: { breaker: false }, run: () => pause(ms) })
  const runs = async (build: string, ms: number) => {
    const worker = await start(build, lasting(ms), { concurrency: 50 })
    await holdfast.enqueueMany(Array.from({ length: 120 }, () => mail.job({})))
    await eventually(async () => (await sql('select from holdfast.live limit 1')).length === 0)
    await worker.stop()
  }
  await runs('v1', 20)
  await runs('v2', 2_000)
  // The new build has been there for a quarter of an hour, and the old one was before.
  await sql(
    `update holdfast.workers set started_at = started_at - interval '16 minutes', seen_at = holdfast.now(), stopped_at = null`,
  )
  const { verdict, findings } = await builds.canary('v2')
  expect(verdict).toBe('roll back')
  expect(findings.filter(({ says }) => says !== 'go')).toMatchObject([{ check: 'duration', type: 'mail', says: 'roll back' }])
})
