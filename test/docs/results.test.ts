import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

test('docs/results.md has an example that runs as it stands', async () => {
  const queue = await makeQueue()
  const [definition = '', use = ''] = blocks(docsPage('results.md'), 'js')[0]?.split('\n\nconst job') ?? []
  const invoice = await runExample(`${definition}\nreturn invoice`, { defineType })
  await startHere(queue, [invoice])
  expect(await runExample(`const job${use}\nreturn number`, { invoice, holdfast: queue.holdfast })).toBe('R-7')
})
