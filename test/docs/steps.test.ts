import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

test('docs/steps.md has an example that runs as it stands', async () => {
  const queue = await makeQueue()
  const [definition = '', use = ''] = blocks(docsPage('steps.md'), 'js')[0]?.split('\n\nconst job') ?? []
  const done: unknown[] = []
  const does = (name: string) => (given: unknown) => done.push([name, given]) > 0
  const given = { defineType, charge: does('charge'), pack: does('pack'), ship: does('ship') }
  const order = await runExample(`${definition}\nreturn order`, given)
  await startHere(queue, [order])
  expect(await runExample(`const job${use}\nreturn shipped`, { order, holdfast: queue.holdfast })).toBe(true)
  const items = ['tea', 'cup']
  expect(done).toEqual([
    ['charge', { items, idempotencyKey: expect.stringMatching(/:charge:tea,cup$/) }],
    ['pack', 'tea'],
    ['pack', 'cup'],
    ['ship', items],
  ])
})
