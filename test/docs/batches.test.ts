import { type AnyJobType, defineType } from 'holdfast'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { makeQueue } from '../support/queue.js'
import { type Serving, serve } from '../support/serving.js'
import { startHere } from '../support/worker-here.js'

const page = docsPage('batches.md')

test('docs/batches.md has examples that run as they stand, one after the other', async () => {
  const queue = await makeQueue()
  const heard: string[] = []
  const type = (name: string) => defineType({ type: name, run: async () => void heard.push(name) })
  const [thumbnail, publish, report] = ['thumbnail', 'publish', 'report'].map(type) as [AnyJobType, AnyJobType, AnyJobType]
  const given = { holdfast: queue.holdfast, defineType, thumbnail, publish, report, photos: [1, 2, 3], console: { log() {} } }
  await queue.holdfast.registerTypes([defineType({ type: 'page' })])
  const { id, crawl, page: crawler } = await runExample(`${blocks(page, 'js').join('\n')}\nreturn { id, crawl, page }`, given)
  await startHere(queue, [thumbnail, publish, report, crawler])
  await eventually(() => heard.includes('publish') && heard.includes('report'))
  expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'succeeded', completed: 3 })
  expect(await queue.holdfast.batches.get(crawl.id)).toMatchObject({ status: 'cancelled' })
  for (const text of blocks(page, 'sql')) expect(await queue.sql(text)).toEqual([])
})

let serving: Serving
beforeAll(async () => {
  serving = await serve()
})
afterAll(() => serving.end())

test('docs/batches.md has requests that are answered as they stand', async () => {
  await serving.holdfast.registerTypes([defineType({ type: 'send_email' })])
  const known: Record<string, string> = {}
  for (const { method, path, body, status, answer } of httpExamples(page)) {
    const response = await serving.call(method, filled(path, known), body)
    const text = await response.text()
    expect(response.status, text).toBe(status)
    known.batch ??= JSON.parse(text).id
    expectAnswer(filled(answer, known), text, `${method} ${path}`)
  }
})
