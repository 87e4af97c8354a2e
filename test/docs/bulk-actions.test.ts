import { defineType, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

test('docs/bulk-actions.md has an example that runs as it stands, and names every action', async () => {
  const page = docsPage('bulk-actions.md')
  const { holdfast } = await makeQueue()
  await holdfast.registerTypes([defineType({ type: 'send_email' })])
  const example = `${blocks(page, 'js')[0]}\nreturn { estimate, status, done, refused }`
  expect(await runExample(example, { holdfast })).toEqual({ estimate: 0, status: 'waiting', done: 0, refused: {} })
  for (const action of ['cancel', 'retry', 'replay', 'discard', 'run-now', 'reschedule', 'set-priority']) {
    expect(page).toContain(`| \`${action}\``)
  }
})

test('docs/error-groups.md has an example that runs as it stands', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const sendEmail = defineType({
    type: 'send_email',
    run() {
      throw new FatalError('no such address')
    },
  })
  await startHere(queue, [sendEmail])
  const { id } = await holdfast.enqueue(sendEmail, {})
  await eventually(async () => (await holdfast.job(id))?.status === 'dead')
  const example = `${blocks(docsPage('error-groups.md'), 'js')[0]}\nreturn { group, jobs, estimate }`
  expect(await runExample(example, { holdfast })).toMatchObject({
    ...{ group: { count: 1, name: 'FatalError', message: 'no such address', job: id }, jobs: [{ id }], estimate: 1 },
  })
})
