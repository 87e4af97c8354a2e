import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const page = readFileSync(new URL('../../docs/chunks.md', import.meta.url), 'utf8')

test('the example of docs/chunks.md runs as it stands: one call of the bulk interface, and an end of its own for each job', async () => {
  const queue = await makeQueue()
  const asked: unknown[][] = []
  const search = {
    async bulk(pages: { url: string }[]) {
      asked.push(pages)
      return pages.map(({ url }, at) => (url === 'bad' ? { error: 'no such page' } : { version: at }))
    },
  }
  const [, example = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const indexPage = new Function('defineType', 'search', `${example.replace('export ', '')}\nreturn indexPage`)(
    defineType,
    search,
  )
  const jobs = await queue.holdfast.enqueueMany(['one', 'bad', 'two'].map((url) => indexPage.job({ url }, { maxAttempts: 1 })))
  await startHere(queue, [indexPage])
  const [one, bad, two] = jobs.map(({ id }) => id) as [string, string, string]
  expect(await Promise.all([one, two].map((id) => queue.holdfast.wait(id)))).toEqual([{ version: 0 }, { version: 2 }])
  await expect(queue.holdfast.wait(bad)).rejects.toThrow('no such page')
  expect(asked).toHaveLength(1)
})
