import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startWorker } from 'holdfast/worker'
import { expect, test } from 'vitest'
import { messageOf } from '../../src/alerts/message.js'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { startReceiver } from '../support/receiver.js'
import { quiet, serve } from '../support/serving.js'
import { repository } from '../support/source.js'

const page = docsPage('alerts.md')
const block = (start: string) => page.slice(page.indexOf(start) + start.length).split('```')[0] as string

test('docs/alerts.md has examples that are answered and run as they stand, and a check that what is sent passes', async () => {
  const receiver = await startReceiver()
  const serving = await serve({}, { alertHosts: [receiver.host] })
  try {
    const known = { port: String(receiver.port) }
    let secret = ''
    for (const { method, path, body, status, answer } of httpExamples(page.replaceAll('{port}', known.port))) {
      const response = await serving.call(method, path, body)
      const text = await response.text()
      expect(response.status, `${method} ${path}: ${text}`).toBe(status)
      expectAnswer(filled(answer, known), text, `${method} ${path}`)
      secret ||= JSON.parse(text).secret ?? ''
    }
    const worker = await startWorker(serving.holdfast, [], { logger: quiet, alerts: true })
    await eventually(() => receiver.received.length === 1)
    const code = `data:text/javascript,${encodeURIComponent(block('```js check\n'))}`
    const { isFromHoldfast } = await import(/* @vite-ignore */ code)
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
    expect(isFromHoldfast(headers, body, secret)).toBe(true)
    expect(isFromHoldfast(headers, `${body} `, secret)).toBe(false)

    const printed: unknown[] = []
    const log = (text: unknown) => printed.push(text)
    await runExample(blocks(page, 'js')[0] as string, { holdfast: serving.holdfast, port: receiver.port, console: { log } })
    // Those that come with the installation, and the one the page made.
    expect(printed).toEqual([20])
    await worker.stop()
  } finally {
    await serving.end()
  }
})

test('docs/alerts.md shows the rules that come with the installation, and a message as it is sent', async () => {
  const serving = await serve()
  try {
    const shown = [...page.matchAll(/^\| `([\w-]+)` +\| `(\w+)` +\| ([\d.]+) +\| (\d+) s +\| (\d+) s +\| (\w+) +\|$/gm)]
    const rules = await serving.holdfast.alerts.rules()
    expect(shown.map(([, ...columns]) => columns)).toEqual(
      rules.map(({ name, kind, threshold, forMs, holdMs, severity }) => [
        ...[name, kind, String(threshold), String(forMs / 1_000), String(holdMs / 1_000), severity],
      ]),
    )
    // Whoever is called finds what to do, by the name of the rule; and Prometheus has the same alerts.
    const todo = page.slice(page.indexOf('## What to do'))
    const prometheus = readFileSync(join(repository, 'docs', 'prometheus-rules.yml'), 'utf8')
    const linked = new Set([...prometheus.matchAll(/runbook_url: ".*#([\w-]+)"/g)].map(([, anchor]) => anchor))
    const told = [...todo.matchAll(/^### ([\w-]+)$/gm)].map(([, name]) => name)
    expect(rules.filter(({ name }) => !told.includes(name) || !linked.has(name))).toEqual([])
    expect([...linked].filter((anchor) => !told.includes(anchor))).toEqual([])
    // Each says where to look and what to do, by a command or by the story of another. That the commands exist is tested with all others.
    const stories = todo.split(/^### /m).slice(1)
    const helpless = stories.filter((story) => !/\b[Ll]ook\b/.test(story) || !namesHelp(story, told as string[]))
    expect(helpless.map((story) => story.split('\n')[0])).toEqual([])
  } finally {
    await serving.end()
  }
  const message = JSON.parse(block('```json\n'))
  expect(messageOf({ ...message.data, state: 'firing', at: message.timestamp })).toEqual(message)
})

function namesHelp(story: string, told: readonly string[]): boolean {
  return /`holdfast [a-z]/.test(story) || told.some((name) => story.includes(`\`${name}\``))
}
