import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const page = readFileSync(new URL('../../docs/steps.md', import.meta.url), 'utf8')

test('docs/steps.md has an example that runs as it stands', async () => {
  const queue = await makeQueue()
  const [, example = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const [definition = '', use = ''] = example
    .replaceAll(/^import .*$/gm, '')
    .replace('export ', '')
    .split('\n\nconst job')
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
  const done: unknown[] = []
  const does = (name: string) => (given: unknown) => done.push([name, given]) > 0
  const order = await new AsyncFunction('defineType', 'charge', 'pack', 'ship', `${definition}\nreturn order`)(
    ...[defineType, does('charge'), does('pack'), does('ship')],
  )
  await startHere(queue, [order])
  expect(await new AsyncFunction('order', 'holdfast', `const job${use}\nreturn shipped`)(order, queue.holdfast)).toBe(true)
  const items = ['tea', 'cup']
  expect(done).toEqual([
    ['charge', { items, idempotencyKey: expect.stringMatching(/:charge$/) }],
    ['pack', 'tea'],
    ['pack', 'cup'],
    ['ship', items],
  ])
})
