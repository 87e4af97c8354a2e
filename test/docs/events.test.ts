import { readFileSync } from 'node:fs'
import { defineType, FatalError } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { quiet, serve } from '../support/serving.js'

const page = readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8')
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor

test('docs/events.md has examples that run as they stand', async () => {
  const [loop = '', one = ''] = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code)
  const serving = await serve()
  const { holdfast } = serving
  const run = (dies: boolean) => {
    if (dies) throw new FatalError('no such account')
  }
  const charge = defineType({ type: 'charge', run })
  const { next } = await holdfast.events.page()
  const worker = await startWorker(holdfast, [charge], { logger: quiet })
  onTestFinished(async () => {
    await worker.stop()
    await serving.end()
  })
  const completed = await holdfast.enqueue(charge, false)
  await holdfast.wait(completed)
  const dead = await holdfast.enqueue(charge, true)
  const said: string[] = []
  const saved: string[] = []
  const tell = async (line: string) => void said.push(line)
  const save = async (_name: string, cursor: string) => {
    saved.push(cursor)
    // Only so does the loop of the example ever end.
    if (saved.length === 2) throw new Error('seen both')
  }
  const follow = new AsyncFunction('holdfast', 'load', 'save', 'tell', loop)
  await expect(follow(holdfast, async () => next, save, tell)).rejects.toThrow('seen both')
  expect(said).toEqual([`${dead.id} died: no such account`])
  const { events, more } = await new AsyncFunction('holdfast', `${one}\nreturn { events, next, more }`)(holdfast)
  expect([events.map(({ cursor }: { cursor: string }) => cursor), more]).toEqual([saved, false])
  const [{ path, status, answer } = { path: '', status: 0, answer: '' }] = httpExamples(page)
  const response = await serving.call('GET', path)
  expect(response.status).toBe(status)
  expectAnswer(filled(answer, { job: completed.id }), await response.text(), path)
})
