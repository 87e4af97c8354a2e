import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const mail = defineType({ type: 'mail', aliases: ['post'], run() {} })
const report = defineType({ type: 'report', lane: 'maintenance', run() {} })
const urgent = defineType({ type: 'urgent', lane: 'interactive', run() {} })
const all = [mail, report, urgent]

async function setUp() {
  const queue = await makeQueue()
  const status = async (id: string) => (await queue.holdfast.job(id))?.status
  return { queue, holdfast: queue.holdfast, status }
}

test('a worker that is started for some of its types runs these under all their names, and registers the others too', async () => {
  const { queue, holdfast, status } = await setUp()
  const worker = await startHere(queue, all, { types: ['mail'] })
  const [waits, runs, old] = await holdfast.enqueueMany([report.job({}), mail.job({}), { type: 'post', payload: {} }])
  for (const one of [runs, old]) await eventually(async () => (await status(one?.id as string)) === 'completed')
  expect(await status(waits?.id as string)).toBe('pending')
  expect((await holdfast.explain(waits?.id as string))?.gates[0]).toMatchObject({ gate: 'no_worker' })
  await worker.stop()
  await startHere(queue, all, { types: ['report', 'urgent'] })
  await eventually(async () => (await status(waits?.id as string)) === 'completed')
})

test('a worker that is started for some lanes runs the types that are in them by now, whatever the code says', async () => {
  const { queue, holdfast, status } = await setUp()
  await holdfast.registerTypes([mail, report, urgent])
  await holdfast.flow.moveType('mail', 'interactive', { by: 'ada' })
  await startHere(queue, all, { lanes: ['interactive'] })
  const [waits, moved, runs] = await holdfast.enqueueMany([report.job({}), mail.job({}), urgent.job({})])
  for (const one of [moved, runs]) await eventually(async () => (await status(one?.id as string)) === 'completed')
  expect(await status(waits?.id as string)).toBe('pending')
})

test('types and lanes that none of its handlers has are refused, with the name that was probably meant', async () => {
  const { queue } = await setUp()
  const refusal = async (options: object) => startHere(queue, all, options).catch((error: Error) => error.message)
  expect(await refusal({ types: ['mial'] })).toMatch(/types names "mial" \(did you mean "mail"\?\), of which there is no handler/)
  expect(await refusal({ lanes: ['interactiv'] })).toMatch(/lanes names "interactiv" \(did you mean "interactive"\?\)/)
  expect(await refusal({ types: ['mail'], lanes: ['maintenance'] })).toMatch(/none of them is in the lanes maintenance/)
  expect(await refusal({ types: [] })).toMatch(/types must be a list of names/)
})
