import { defineType } from 'holdfast'
import { startWorker, type WorkerOptions } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { readMeasured, scrape } from '../support/measured.js'
import { makeQueue } from '../support/queue.js'
import { quiet } from '../support/serving.js'

async function setUp(types: Parameters<typeof startWorker>[1], more: WorkerOptions = {}) {
  const queue = await makeQueue()
  const worker = await startWorker(queue.holdfast, types, { logger: quiet, poll: '10ms', ...more })
  onTestFinished(() => worker.stop({ now: true }))
  const noted = (right: number, wrong: number) =>
    eventually(async () => {
      const [row] = await queue.sql('select confirmed::int, refuted::int from holdfast.verified')
      return row?.confirmed === right && row?.refuted === wrong
    })
  return { ...queue, worker, noted }
}

test('the true rate of success stands beside the one that handlers claim', async () => {
  const made = new Set<number>()
  const render = defineType({
    type: 'render',
    run: async (payload: unknown) => {
      const { page } = payload as { page: number }
      // Every second page is claimed and not made.
      if (page % 2 === 0) made.add(page)
      return { page }
    },
    verify: {
      share: 1,
      after: 0,
      check: (payload, result) => result.page === (payload as { page: number }).page && made.has(result.page),
    },
  })
  const { holdfast, noted } = await setUp([render])
  await holdfast.enqueueMany([1, 2, 3, 4].map((page) => ({ type: 'render', payload: { page } })))
  await noted(2, 2)
  const { types } = await holdfast.typeSeries({ last: '1m' })
  expect(types.find(({ type }) => type === 'render')).toMatchObject({ confirmed: 2, refuted: 2, trueSuccessShare: 0.5 })
  const measured = readMeasured(await scrape(holdfast))
  expect(measured.get('holdfast_jobs_completed_total{type="render"}')).toBe(4)
  expect(measured.get('holdfast_verified_total{type="render",outcome="confirmed"}')).toBe(2)
  expect(measured.get('holdfast_verified_total{type="render",outcome="refuted"}')).toBe(2)
})

test('what could not be told is asked again, and counts once', async () => {
  let asked = 0
  const send = defineType({
    type: 'send',
    run: async () => 'sent',
    verify: {
      share: 1,
      after: 0,
      check() {
        if (++asked === 1) throw new Error('the mail server does not answer')
        return true
      },
    },
  })
  const { holdfast, noted, sql } = await setUp([send])
  await holdfast.enqueue('send', {})
  await eventually(async () => {
    const waits = await sql(`select from holdfast.jobs where type = 'holdfast:verify:send' and status = 'failed'`)
    return waits.length === 1
  })
  const [{ id }] = (await sql(`select id from holdfast.jobs where type = 'holdfast:verify:send'`)) as [{ id: string }]
  await holdfast.runNow(id, { by: 'ada' })
  await noted(1, 0)
  expect(asked).toBe(2)
})

test('a type says how many are looked at, and nobody pays who does not ask for it', async () => {
  const define = (verify: unknown) => () => defineType({ type: 'mail', verify: verify as { check(): boolean } })
  expect(define({})).toThrow(/must be an object with a function check/)
  expect(define({ check: () => true, share: 2 })).toThrow(/share of mail is 2; it must be above 0 and 1 at most/)
  expect(define({ check: () => true, after: '2d' })).toThrow(/more than a day/)
  const plain = defineType({ type: 'plain', run: async () => {} })
  const { holdfast, sql, worker } = await setUp([plain])
  await holdfast.wait(await holdfast.enqueue('plain', {}))
  expect(worker.events.listenerCount('job.completed')).toBe(0)
  expect(await sql(`select from holdfast.types where name like 'holdfast:verify:%'`)).toEqual([])
})
