import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { freshQueue } from '../support/workflows.js'

/** Dead letters of one batch or execution: found, counted and replayed by its id. */
const who = { by: 'ada', why: 'the mail server is back' }

/** A type that dies until it is repaired, a callback, and a workflow of tasks that die with it. */
function broken() {
  const state = { repaired: false }
  const mail = defineType({
    type: 'mail',
    limits: { breaker: false },
    run(payload: { dies?: boolean }) {
      if (payload.dies && !state.repaired) throw new FatalError('connection refused')
      return 'sent'
    },
  })
  const done = defineType({ type: 'done', run() {} })
  const letters = defineWorkflow({
    name: 'letters',
    onFailure: 'continue',
    tasks(task) {
      const first = task('first', { type: mail, payload: {} })
      const one = task('one', { type: mail, payload: { dies: true }, after: [first] })
      const two = task('two', { type: mail, payload: { dies: true }, after: [first] })
      return task('last', { type: mail, payload: {}, after: [one, two] })
    },
  })
  return { state, mail, done, letters, types: [mail, done] }
}

test('failed tasks are the dead letters of their execution, and replaying them by its id carries it on', async () => {
  const { state, mail, letters, types } = broken()
  const queue = await freshQueue(types)
  const { deadLetters, executions } = queue.holdfast
  const [mine, another] = await Promise.all([queue.holdfast.start(letters, {}), queue.holdfast.start(letters, {})])
  const alone = await queue.holdfast.enqueue(mail, { dies: true })
  const statusOf = async (id: string) => (await executions.get(id))?.status
  for (const { id } of [mine, another]) await eventually(async () => (await statusOf(id)) === 'failed')
  await expect(queue.holdfast.wait(alone)).rejects.toMatchObject({ code: 'job_dead' })
  const tasks = (await executions.get(mine.id))?.tasks.filter(({ status }) => status === 'dead') ?? []
  expect(tasks.map(({ name }) => name)).toEqual(['one', 'two'])
  const found = async (filter: object) => (await deadLetters.list(filter)).letters.map(({ id }) => id).toSorted()
  expect(await found({ batch: mine.id })).toEqual(tasks.map(({ jobId }) => jobId as string).toSorted())
  expect(await found({ batch: mine.id, error: 'refused', type: 'mail' })).toHaveLength(2)
  expect(await found({ batch: mine.id, reason: 'exhausted' })).toEqual([])
  expect(await found({})).toHaveLength(5)
  expect(await deadLetters.replayMany({ batch: mine.id }, who, { dryRun: true })).toMatchObject({ matched: 2, done: 0 })
  state.repaired = true
  expect(await deadLetters.replayMany({ batch: mine.id }, who)).toMatchObject({ matched: 2, done: 2 })
  await eventually(async () => (await statusOf(mine.id)) === 'completed')
  expect((await executions.get(mine.id))?.tasks.map(({ status }) => status)).toEqual(Array(4).fill('completed'))
  expect(await found({ batch: mine.id })).toEqual([])
  expect(await statusOf(another.id)).toBe('failed')
  expect(await found({})).toHaveLength(3)
})

test('those of a batch are replayed by its id, in pages too, and it goes into another round', async () => {
  const { state, mail, done, types } = broken()
  const queue = await freshQueue(types)
  const { deadLetters, batches } = queue.holdfast
  const jobs = Array.from({ length: 5 }, (_, n) => mail.job({ dies: n > 1 }))
  const { id } = await queue.holdfast.batch({ jobs, onComplete: done.job({}) })
  await queue.holdfast.batch({ jobs: [mail.job({ dies: true })] })
  await eventually(async () => (await queue.sql('select from holdfast.dead_letters')).length === 4)
  await eventually(async () => (await batches.get(id))?.status === 'failed')
  const first = await deadLetters.list({ batch: id }, { limit: 2 })
  const second = await deadLetters.list({ batch: id }, { limit: 2, after: first.next as string })
  expect([first.letters.length, second.letters.length, second.next]).toEqual([2, 1, undefined])
  state.repaired = true
  expect(await deadLetters.replayMany({ batch: id }, who)).toMatchObject({ matched: 3, done: 3 })
  await eventually(async () => (await batches.get(id))?.status === 'succeeded')
  expect(await batches.get(id)).toMatchObject({ dead: 0, completed: 5 })
})

test('those of a large batch are found as well, and what is no id is refused', async () => {
  const { mail } = broken()
  const queue = await freshQueue()
  await queue.holdfast.registerTypes([mail])
  const { deadLetters } = queue.holdfast
  const { id } = await queue.holdfast.batch({ jobs: Array.from({ length: 1_100 }, () => mail.job({})) })
  const [other] = await queue.holdfast.enqueueMany([mail.job({})])
  const buried = await queue.holdfast.buryMany({ type: 'mail' }, who)
  expect(buried.done).toBe(1_101)
  expect(await deadLetters.discardMany({ batch: id }, who)).toMatchObject({ matched: 1_100, done: 1_100 })
  expect((await deadLetters.list()).letters.map((letter) => letter.id)).toEqual([other?.id])
  await expect(deadLetters.list({ batch: 'nightly' })).rejects.toMatchObject({ code: 'invalid_option', field: 'batch' })
  expect((await deadLetters.list({ batch: '01900000-0000-7000-8000-00000000dead' })).letters).toEqual([])
})
