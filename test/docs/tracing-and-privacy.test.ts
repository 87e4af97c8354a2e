import { randomBytes } from 'node:crypto'
import * as api from '@opentelemetry/api'
import * as hooks from '@opentelemetry/context-async-hooks'
import * as sdk from '@opentelemetry/sdk-trace-base'
import { defineType, Holdfast } from 'holdfast'
import { expect, onTestFinished, test, vi } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'

test('docs/tracing.md has examples that run as they stand', async () => {
  const queue = await makeQueue()
  const sendEmail = defineType({ type: 'send_email' })
  const printed: { name: string; traceId: string }[] = []
  const dir = vi.spyOn(console, 'dir').mockImplementation((span) => void printed.push(span))
  onTestFinished(() => {
    dir.mockRestore()
    for (const one of [api.trace, api.context]) one.disable()
  })
  const [first = '', second = ''] = blocks(docsPage('tracing.md'), 'js')
  const names = { ...api, ...hooks, ...sdk, holdfast: queue.holdfast, sendEmail }
  const given = Object.fromEntries(Object.entries(names).filter(([name]) => name !== 'default' && name !== 'module.exports'))
  await runExample(first, given)
  expect(printed.map(({ name }) => name)).toEqual(['holdfast.enqueue', 'checkout'])
  expect(new Set(printed.map(({ traceId }) => traceId)).size).toBe(1)
  await runExample(second, given)
  expect(printed.at(-1)?.traceId).toBe('0af7651916cd43dd8448eb211c80319c')
})

test('docs/privacy.md has examples that run as they stand, one after the other, and print what they say', async () => {
  const queue = await makeQueue()
  const [first = '', ...others] = blocks(docsPage('privacy.md'), 'js')
  const said = [first, ...others].flatMap((code) => [...code.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text))
  expect(said).toHaveLength(3)
  const printed: string[] = []
  const log = (...values: unknown[]) =>
    void printed.push(values.map((v) => (typeof v === 'object' ? JSON.stringify(v) : v)).join(' '))
  const names = {
    ...{ defineType, Holdfast, connectionString: queue.url, pay() {}, console: { log } },
    process: { env: { KEY_2026_11: randomBytes(32).toString('base64') } },
    later: randomBytes(32).toString('base64'),
  }
  // Between the first example and the second the new key is made the current one.
  const rotated = `const before = holdfast; { const holdfast = new Holdfast({ connectionString,
    encryption: { keys: { '2026-11': process.env.KEY_2026_11, '2026-12': later }, current: '2026-12' } })
    try { ${others.join('\n')} } finally { await holdfast.close(); await before.close() } }`
  await runExample(`${first}\n${rotated}`, names)
  expect(printed).toEqual(said)
})
