import { type AnyWorkflow, defineWorkflow } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { serve } from '../support/serving.js'
import { freshQueue } from '../support/workflows.js'

const page = docsPage('workflows.md')
const [definition = '', use = ''] = blocks(page, 'js')[0]?.split('\nconst started') ?? []
const order: AnyWorkflow = await runExample(`${definition}\nreturn order`, { defineWorkflow })

test('docs/workflows.md has an example that runs as it stands', async () => {
  const queue = await freshQueue(order.types)
  const used = `const started${use}\nreturn [started.id, output]`
  const [id, output] = await runExample(used, { order, holdfast: queue.holdfast })
  expect(output).toBe('paid 30: sent socks, sent hat')
  const execution = await queue.holdfast.executions.get(id)
  expect(execution?.tasks.find(({ name }) => name === 'refund')).toMatchObject({ status: 'skipped', because: 'condition' })
})

test('docs/workflows.md names every option of a task that all tasks have, and every move of an execution', async () => {
  const queue = await freshQueue()
  for (const option of ['run', 'type', 'workflow', 'after', 'payload', 'when', 'if', 'each'])
    expect(page).toContain(`\`${option}\``)
  const moves = Object.getOwnPropertyNames(Object.getPrototypeOf(queue.holdfast.executions)).filter(
    (name) => name !== 'constructor',
  )
  expect(moves.filter((name) => name !== 'start' && !page.includes(`executions.${name}(`))).toEqual([])
})

test('docs/workflows.md has requests that are answered as they stand', async () => {
  const serving = await serve()
  onTestFinished(() => serving.end())
  await serving.holdfast.executions.register(order)
  const known: Record<string, string> = {}
  for (const { method, path, body, status, answer } of httpExamples(page)) {
    const response = await serving.call(method, filled(path, known), body)
    const text = await response.text()
    expect(response.status, text).toBe(status)
    known.execution ??= JSON.parse(text).id
    expectAnswer(filled(answer, known), text, `${method} ${path}`)
  }
})
