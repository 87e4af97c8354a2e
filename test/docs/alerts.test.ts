import { startWorker } from 'holdfast/worker'
import { expect, test } from 'vitest'
import { messageOf } from '../../src/alerts/message.js'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { startReceiver } from '../support/receiver.js'
import { quiet, serve } from '../support/serving.js'

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
    expect(printed).toEqual([10])
    await worker.stop()
  } finally {
    await serving.end()
  }
})

test('docs/alerts.md shows the rules that come with the installation, and a message as it is sent', async () => {
  const serving = await serve()
  try {
    const shown = [...page.matchAll(/^\| `([\w-]+)` +\| `(\w+)` +\| ([\d.]+) +\| (\d+) s +\|$/gm)]
    const rules = await serving.holdfast.alerts.rules()
    expect(shown.map(([, ...columns]) => columns)).toEqual(
      rules.map(({ name, kind, threshold, holdMs }) => [name, kind, String(threshold), String(holdMs / 1_000)]),
    )
  } finally {
    await serving.end()
  }
  const message = JSON.parse(block('```json\n'))
  expect(messageOf({ ...message.data, state: 'firing', at: message.timestamp })).toEqual(message)
})
