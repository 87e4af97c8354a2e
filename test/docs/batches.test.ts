import { readFileSync } from 'node:fs'
import { type AnyJobType, defineType } from 'holdfast'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { makeQueue } from '../support/queue.js'
import { type Serving, serve } from '../support/serving.js'
import { startHere } from '../support/worker-here.js'

const page = readFileSync(new URL('../../docs/batches.md', import.meta.url), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code]) => code as string)

test('docs/batches.md has examples that run as they stand, one after the other', async () => {
  const queue = await makeQueue()
  const heard: string[] = []
  const type = (name: string) => defineType({ type: name, run: async () => void heard.push(name) })
  const [thumbnail, publish, report] = ['thumbnail', 'publish', 'report'].map(type) as [AnyJobType, AnyJobType, AnyJobType]
  const given = { holdfast: queue.holdfast, defineType, thumbnail, publish, report, photos: [1, 2, 3], console: { log() {} } }
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor
  const run = new AsyncFunction(...Object.keys(given), `${blocks('js').join('\n')}\nreturn { id, crawl, page }`)
  await queue.holdfast.registerTypes([defineType({ type: 'page' })])
  const { id, crawl, page: crawler } = await run(...Object.values(given))
  await startHere(queue, [thumbnail, publish, report, crawler])
  await eventually(() => heard.includes('publish') && heard.includes('report'))
  expect(await queue.holdfast.batches.get(id)).toMatchObject({ status: 'succeeded', completed: 3 })
  expect(await queue.holdfast.batches.get(crawl.id)).toMatchObject({ status: 'cancelled' })
  for (const text of blocks('sql')) expect(await queue.sql(text)).toEqual([])
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
