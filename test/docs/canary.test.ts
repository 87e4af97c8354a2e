import { defineType } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { expectAnswer, httpExamples } from '../support/http-examples.js'
import { quiet, serve } from '../support/serving.js'

const page = docsPage('canary.md')

test('the examples of docs/canary.md run as they stand', async () => {
  const serving = await serve()
  onTestFinished(() => serving.end())
  const { holdfast } = serving
  const greet = defineType({ type: 'greet', run() {} })
  const [started, declared, told] = blocks(page, 'js') as [string, string, string]
  const begun: Awaited<ReturnType<typeof startWorker>>[] = []
  const startHere: typeof startWorker = async (on, source, options) => {
    const worker = await startWorker(on, source, { ...options, logger: quiet })
    begun.push(worker)
    return worker
  }
  onTestFinished(async () => void (await Promise.all(begun.map((worker) => worker.stop({ now: true })))))
  await runExample(started, { holdfast, greet, startWorker: startHere })
  // Its heart has to beat before it counts as alive.
  await eventually(async () => (await holdfast.flow.builds.list())[0]?.workers === 1)

  for (const { method, path, body, status, answer } of httpExamples(page)) {
    const response = await serving.call(method, path, body)
    const text = await response.text()
    expect(response.status, text).toBe(status)
    expectAnswer(answer, text, path)
  }
  const [exists, resize] = [async (file: string) => file === 'smoke/small.jpg', async () => ({ bytes: 7 })]
  const { smoke } = await runExample(`${declared}\nreturn resizeImage`, { defineType, exists, resize })
  expect(await smoke.check({ bytes: 7 }, smoke.payload)).toBe(true)
  const printed: unknown[] = []
  await runExample(told, { holdfast, console: { log: (text: unknown) => printed.push(text) } })
  expect(printed).toEqual([1, 'wait'])
})

test('docs/canary.md has a row for everything that a verdict looks at', async () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| what'))
  expect(rows).toHaveLength(7)
})
