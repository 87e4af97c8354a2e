import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineType, defineWorkflow } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { serve } from '../support/serving.js'
import { repository } from '../support/source.js'

const page = readFileSync(join(repository, 'docs', 'worker-protocol.md'), 'utf8')

test('docs/worker-protocol.md has examples that are answered as they stand, one after the other', async () => {
  const serving = await serve()
  onTestFinished(() => serving.end())
  const { holdfast } = serving
  await holdfast.registerTypes([defineType({ type: 'send_email' })])
  const { key } = await holdfast.access.createKey({ service: 'pdf', roles: ['worker'] }, { by: 'ada' })
  const known: Record<string, string> = {}
  const ask = async (method: string, path: string, body: unknown) => {
    const response = await serving.call(method, path, JSON.parse(filled(JSON.stringify(body), known)), key)
    return { status: response.status, text: await response.text() }
  }
  const enqueue = () => holdfast.enqueue('make_pdf', { pages: 10 })
  const examples = httpExamples(page)
  expect(examples.map(({ path }) => path)).toEqual(
    ['register', 'claim', 'heartbeat', 'step', 'settle', 'task', 'sign-off'].map((name) => `/worker/${name}`),
  )
  for (const { method, path, body, status, answer } of examples) {
    if (path === '/worker/claim') await enqueue()
    if (path === '/worker/task') await claimTheTask()
    if (path === '/worker/sign-off') {
      await settle('complete')
      await settleTheOthers()
    }
    const { status: given, text } = await ask(method, path, body)
    expect(given, text).toBe(status)
    expectAnswer(filled(answer, known), text, path)
    remember(text)
  }

  function remember(text: string) {
    const { worker, jobs = [] } = JSON.parse(text) as { worker?: string; jobs?: { id: string; lease: string }[] }
    if (worker !== undefined) known.worker = worker
    for (const { id, lease } of jobs) Object.assign(known, { job: id, lease })
  }

  async function settle(result: string, more = {}) {
    const results = [{ job: '{job}', lease: '{lease}', result, ...more }]
    expect(JSON.parse((await ask('POST', '/worker/settle', { worker: '{worker}', results })).text)).toMatchObject({
      results: [{ settled: true }],
    })
  }

  /** The second task of a workflow, once the first has returned. */
  async function claimTheTask() {
    const claim = async () => remember((await ask('POST', '/worker/claim', { worker: '{worker}', wait: '20s' })).text)
    const book = defineWorkflow({
      name: 'book',
      tasks: (task) => task('bind', { type: 'make_pdf', after: [task('draw', { type: 'make_pdf' })] }),
    })
    await holdfast.start(book, { pages: 10 })
    await claim()
    await settle('complete', { returned: { drawn: 10 } })
    await claim()
  }

  /** The other results of the page, each for a job of its own. */
  async function settleTheOthers() {
    const [, lines = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? []
    const statuses: unknown[] = []
    for (const line of lines.trim().split('\n')) {
      const { id } = await enqueue()
      // What was handed back is there again, and before those that came later.
      remember((await ask('POST', '/worker/claim', { worker: '{worker}', types: ['make_pdf'], wait: '20s' })).text)
      expect(known.job).toBe(id)
      const settled = JSON.parse(line)
      if (settled.result === 'block') {
        await ask('POST', '/worker/step', {
          worker: '{worker}',
          job: '{job}',
          lease: '{lease}',
          name: 'paid',
          kind: 'signal',
          after: 0,
        })
      }
      const { text } = await ask('POST', '/worker/settle', { worker: '{worker}', results: [settled] })
      expect(JSON.parse(text).results).toMatchObject([{ job: id, settled: true }])
      statuses.push((await holdfast.job(id))?.status)
    }
    expect(statuses).toEqual(['failed', 'scheduled', 'blocked', 'pending'])
  }
})
