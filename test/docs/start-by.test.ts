import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'

const page = docsPage('start-by.md')

test.each([
  'steps',
  'complete-with',
  'versions',
  'start-by',
  'batches',
  'workflows',
  'schedules',
  'chunks',
  'remote-worker',
  'resume',
])('docs/%s.md has a picture', (name) => expect(docsPage(`${name}.md`)).toMatch(/```mermaid|─▶|─►/))

test('the examples of docs/start-by.md run as they stand, and the jobs of all have a time', async () => {
  const queue = await makeQueue()
  const [enqueues = '', definition = ''] = blocks(page, 'js')
  const [statement = ''] = blocks(page, 'sql')
  const loginCode = await runExample(`return ${definition}`, { defineType })
  expect(loginCode.alertExpired).toBe(true)
  const report = defineType({ type: 'report' })
  await runExample(enqueues, { holdfast: queue.holdfast, loginCode, report })
  await queue.sql(statement)
  expect(await queue.sql('select from holdfast.start_deadlines where start_by > holdfast.now()')).toHaveLength(3)
})
