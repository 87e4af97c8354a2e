import { defineType } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

let serving: Serving
let call: Contract
const slow = defineType({
  type: 'slow',
  run: (_payload, { signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
})
const quick = defineType({ type: 'quick', lane: 'interactive', run() {} })

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([slow, quick], { update: true })
  await serving.holdfast.flow.setLane('interactive', { slots: null, workerSlots: null }, { by: 'ada' })
  call = await contractOf(serving)
})
afterAll(() => serving.end())

const lane = async (name: string, query = '') => (await call('GET', `/autoscale?lane=${name}${query}`)).body

test('a lane wants nobody while it has nothing to do, and then as many as what waits takes', async () => {
  expect(await lane('default')).toMatchObject({ workers: 0, lanes: { default: { waiting: 0, running: 0, drain_s: 0 } } })
  await serving.holdfast.enqueueMany(Array.from({ length: 1_200 }, () => slow.job({})))
  // A second each, until one has ended: 1,200 s of work in 60 s are 20 slots.
  const wanted = await eventually(async () => {
    const { workers, lanes } = await lane('default')
    return lanes.default.waiting === 1_200 && workers
  })
  // And 30 % of headroom.
  expect(wanted).toBe(3)
  expect((await lane('default', '&concurrency=1&target=30s&headroom=0')).workers).toBe(40)
  expect((await lane('default', '&headroom=0')).workers).toBe(2)
  expect((await lane('default', '&minimum=5')).workers).toBe(5)
  const all = (await call('GET', '/autoscale')).body
  expect(Object.keys(all.lanes)).toContain('interactive')
  expect(all.workers).toBe(3)
})

test('what is paused or drained wants nobody, because nobody could help it', async () => {
  await serving.holdfast.flow.pauseType('slow', { by: 'ada' })
  expect(await lane('default')).toMatchObject({ workers: 0, lanes: { default: { waiting: 0 } } })
  await serving.holdfast.flow.resumeType('slow', { by: 'ada' })
  expect((await lane('default')).workers).toBe(3)
  await serving.holdfast.flow.drainLane('default', { by: 'ada' })
  expect((await lane('default')).workers).toBe(0)
  await serving.holdfast.flow.resumeLane('default', { by: 'ada' })
})

test('counts what runs, what ended in the last minute, and who works', async () => {
  const worker = await startWorker(serving.holdfast, [slow, quick], { logger: quiet, concurrency: 4, drain: 0 })
  await serving.holdfast.enqueueMany(Array.from({ length: 60 }, () => quick.job({})))
  await eventually(async () => (await lane('default')).lanes.default.running >= 1)
  expect((await lane('default')).lanes.default).toMatchObject({ live_workers: 1 })
  await serving.holdfast.cancelMany({ type: 'slow' }, { by: 'ada' })
  const ended = await eventually(async () => {
    const { interactive } = (await lane('interactive')).lanes
    return interactive.waiting + interactive.running === 0 && interactive.ended_per_s === 1 && interactive
  })
  expect(ended).toMatchObject({ drain_s: 0, workers: 0 })
  await worker.stop()
})

test.each([
  ['lane=defult', 422, 'lane'],
  ['concurrency=0', 400, 'concurrency'],
  ['target=0s', 400, 'target'],
  ['target=2d', 400, 'target'],
  ['lanes=default', 400, 'lanes'],
])('refuses ?%s', async (query, status, field) => {
  expect((await call('GET', `/autoscale?${query}`)).body).toMatchObject({ status, field })
})
