import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { startHere } from '../support/worker-here.js'

const slow = defineType({ type: 'slow' })

test('holdfast workflows starts, shows, waits for, cancels and repeats executions, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  const order = defineWorkflow({ name: 'order', tasks: (task) => task('pack', { run: () => 'packed' }) })
  const hopeless = defineWorkflow({
    name: 'hopeless',
    tasks: (task) =>
      task('try', {
        run: () => {
          throw new FatalError('never')
        },
      }),
  })
  const later = defineWorkflow({ name: 'later', tasks: (task) => task('wait', { type: slow, delay: '1h' }) })
  for (const workflow of [order, hopeless, later]) await queue.holdfast.executions.register(workflow)

  expect(await both('workflows', 'ls')).toBe('There are no executions.')
  const started = await eachWay.http('workflows', 'start', 'order', '{"cart": 1}')
  const id = /^Execution ([0-9a-f-]{36}) of order was started\.$/.exec(started)?.[1] ?? ''
  for (const way of [eachWay.database, eachWay.http]) {
    expect(await way('workflows', 'start', 'odrer')).toMatch(/^1 holdfast: no workflow "odrer" is registered/)
  }
  expect(await both('workflows', 'wait', id, '--timeout', '10ms')).toMatch(/^1 holdfast: .*had not ended after 10 ms/)
  await startHere(queue, [...order.types, ...hopeless.types])
  expect(await both('workflows', 'wait', id)).toBe('It completed: "packed"')
  expect((await both('workflows', 'show', id)).split('\n').map((text) => text.trim())).toEqual([
    `${id}  order v1  completed`,
    expect.stringMatching(/^created 2\S+ {2}ended 2\S+$/),
    'input {"cart":1}',
    'output "packed"',
    'tasks completed: 1',
    expect.stringMatching(/^TASK +STATUS +JOB$/),
    expect.stringMatching(/^pack {2}completed {2}[0-9a-f-]{36}$/),
  ])
  const failing = await queue.holdfast.start(hopeless, {})
  await eventually(async () => (await queue.holdfast.executions.overview(failing.id))?.status === 'failed')
  expect(await both('workflows', 'wait', failing.id)).toMatch(
    /^1 holdfast: .*of hopeless failed: try ended dead of FatalError: never$/,
  )
  expect(await eachWay.http('workflows', 'rerun', id, 'pack')).toMatch(/^Execution [0-9a-f-]{36} repeats it from pack on\.$/)
  const waits = await queue.holdfast.start(later, {}, { tags: ['spring'] })
  expect(await both('workflows', 'cancel', waits.id)).toMatch(/^2 holdfast: nothing was done: pass --yes to cancel execution/)
  expect(await eachWay.http('workflows', 'cancel', waits.id, '--yes', '--why', 'enough')).toBe(
    `Execution ${waits.id} is cancelled.`,
  )
  expect(await both('workflows', 'cancel', waits.id, '--yes')).toMatch(/^1 holdfast: nothing was changed: /)
  expect(await both('workflows', 'ls', '--status', 'cancelled')).toMatch(new RegExp(`${waits.id}  later v1 +cancelled`))
  expect(await both('workflows', 'ls', '--tag', 'spring')).toMatch(new RegExp(`^ID .*\\n${waits.id}  later v1.*$`))
  expect(await eachWay.database('workflows', 'resume', waits.id)).toBe(`Execution ${waits.id} is running.`)
})

test('holdfast batches shows, cancels and retries batches, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  expect(await both('batches', 'ls')).toBe('There are no batches.')
  const batch = await queue.holdfast.batch({ name: 'letters', jobs: [slow.job({}, { delay: '1h' })] })
  expect((await both('batches', 'ls')).split('\n')).toEqual([
    expect.stringMatching(/^ID +NAME +STATUS +JOBS +LIVE +AGE$/),
    expect.stringMatching(new RegExp(`^${batch.id}  letters  running     1     1 +\\ds$`)),
  ])
  expect(JSON.parse(await both('batches', 'show', batch.id, '--json'))).toMatchObject({
    id: batch.id,
    live: 1,
    cancelled_by: null,
  })
  expect(await both('batches', 'retry', batch.id)).toBe('0 of 0 dead jobs were replayed.')
  expect(await eachWay.http('batches', 'cancel', batch.id, '--yes', '--why', 'wrong list')).toBe(
    `Batch ${batch.id} is being cancelled.`,
  )
  await eventually(async () => (await eachWay.database('batches', 'show', batch.id)).includes('cancelled by admin: wrong list'))
})
