import { tmpdir } from 'node:os'
import { defineType, defineWorkflow } from 'holdfast'
import { expect, test } from 'vitest'
import { Program } from '../support/holdfast-program.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

test('holdfast workflows starts, shows, waits for, cancels and repeats executions, and holdfast batches shows batches', async () => {
  const queue = await makeQueue()
  const run = async (...args: string[]) => {
    const program = new Program(tmpdir(), args, { env: { DATABASE_URL: queue.url } })
    const code = await program.ended
    return code === 0 ? program.output.trimEnd() : `${code} ${program.complaints.trimEnd()}`
  }
  const order = defineWorkflow({ name: 'order', tasks: (task) => task('pack', { run: () => 'packed' }) })
  const slow = defineType({ type: 'slow' })
  const later = defineWorkflow({ name: 'later', tasks: (task) => task('wait', { type: slow, delay: '1h' }) })
  await queue.holdfast.executions.register(order)
  await queue.holdfast.executions.register(later)

  expect(await run('workflows', 'ls')).toBe('There are no executions.')
  const id =
    /^Execution ([0-9a-f-]{36}) of order was started\.$/.exec(await run('workflows', 'start', 'order', '{"cart": 1}'))?.[1] ?? ''
  expect(await run('workflows', 'start', 'odrer')).toMatch(
    /^1 holdfast: no workflow "odrer" is registered; give its definition to a worker/,
  )
  expect(await run('workflows', 'wait', id, '--timeout', '10ms')).toMatch(/^1 holdfast: .*had not ended after 10 ms/)
  await startHere(queue, order.types)
  expect(await run('workflows', 'wait', id)).toBe('It completed: "packed"')
  const shown = await run('workflows', 'show', id)
  expect(shown.split('\n').map((text) => text.trim())).toEqual([
    expect.stringMatching(`^${id}  order v1  completed  2`),
    'input {"cart":1}',
    'tasks completed: 1',
    expect.stringMatching(/^pack {2}completed {2}[0-9a-f-]{36}$/),
  ])
  expect(await run('workflows', 'rerun', id, 'pack')).toMatch(/^Execution [0-9a-f-]{36} repeats it from pack on\.$/)
  const started = await queue.holdfast.start(later, {})
  expect(await run('workflows', 'cancel', started.id, '--why', 'enough')).toBe(`Execution ${started.id} is cancelled.`)
  expect(await run('workflows', 'cancel', started.id)).toMatch(/^1 holdfast: nothing was changed: /)
  expect(await run('workflows', 'ls', '--status', 'cancelled')).toMatch(`${started.id}  later v1  cancelled`)

  expect(await run('batches', 'ls')).toBe('There are no batches.')
  const batch = await queue.holdfast.batch({ name: 'letters', jobs: [slow.job({}, { delay: '1h' })] })
  expect(await run('batches', 'ls')).toMatch(`${batch.id}  letters  running  1 jobs  live: 1  2`)
  expect(JSON.parse(await run('batches', 'show', batch.id, '--json'))).toMatchObject({ id: batch.id, live: 1 })
}, 120_000)
