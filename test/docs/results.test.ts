import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const page = readFileSync(new URL('../../docs/results.md', import.meta.url), 'utf8')

test('docs/results.md has an example that runs as it stands', async () => {
  const queue = await makeQueue()
  const [, example = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const [definition = '', use = ''] = example
    .replaceAll(/^import .*$/gm, '')
    .replace('export ', '')
    .split('\n\nconst job')
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
  const invoice = await new AsyncFunction('defineType', `${definition}\nreturn invoice`)(defineType)
  await startHere(queue, [invoice])
  const used = `const job${use}\nreturn number`
  expect(await new AsyncFunction('invoice', 'holdfast', used)(invoice, queue.holdfast)).toBe('R-7')
})
