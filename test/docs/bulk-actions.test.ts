import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'

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
