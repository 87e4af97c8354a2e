import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { makeQueue } from '../support/queue.js'

const page = readFileSync(new URL('../../docs/start-by.md', import.meta.url), 'utf8')

test('the examples of docs/start-by.md run as they stand, and the jobs of all have a time', async () => {
  const queue = await makeQueue()
  const [[, enqueues = ''] = [], [, definition = ''] = []] = [...page.matchAll(/```js\n([\s\S]*?)```/g)]
  const [, statement = ''] = /```sql\n([\s\S]*?)```/.exec(page) ?? []
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
  const loginCode = await new AsyncFunction('defineType', `return ${definition}`)(defineType)
  expect(loginCode.alertExpired).toBe(true)
  const report = defineType({ type: 'report' })
  await new AsyncFunction('holdfast', 'loginCode', 'report', enqueues)(queue.holdfast, loginCode, report)
  await queue.sql(statement)
  expect(await queue.sql('select from holdfast.start_deadlines where start_by > holdfast.now()')).toHaveLength(3)
})
