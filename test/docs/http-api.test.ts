import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defineType, FatalError } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { rules } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectAnswer, filled, httpExamples } from '../support/http-examples.js'
import { onceThereIsTime, quiet, type Serving, serve } from '../support/serving.js'
import { repository } from '../support/source.js'

const page = readFileSync(join(repository, 'docs', 'http-api.md'), 'utf8')
const sendEmail = defineType({ type: 'send_email' })
const report = defineType({
  type: 'make_report',
  async run(_payload, context) {
    context.log('page 1')
    context.progress(0.5, 'half')
  },
})
const pay = defineType({ type: 'pay', sensitive: true, run: () => Promise.reject(new FatalError('no such account')) })
const importing = defineType({ type: 'import_file', run: () => Promise.reject(new FatalError('Connection refused')) })

let serving: Serving
const keys: Record<string, string> = {}
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([sendEmail])
  const { access } = serving.holdfast
  for (const [service, role] of [
    ['billing', 'producer'],
    ['on-call', 'operator'],
  ] as const) {
    keys[service] = (await access.createKey({ service, roles: [role] }, { by: 'ada' })).key
  }
})
afterAll(() => serving.end())

/** Services ask for jobs, on-call operates, and keys and roles are for the key of the installation. */
function keyFor(path: string): string | undefined {
  if (/^\/admin\/(keys|roles|audit|certificates)/.test(path)) return undefined
  return keys[path.startsWith('/jobs') && !path.endsWith('/bury') ? 'billing' : 'on-call']
}

test('has examples that are answered as they stand, one after the other', { timeout: 120_000 }, async () => {
  const { holdfast } = serving
  const worker = await startWorker(holdfast, [report, importing, pay], { logger: quiet })
  const known: Record<string, string> = { key: keys['on-call'] as string }
  known.report = (await holdfast.enqueueMany([report.job({})], { owner: 'billing' }))[0]?.id as string
  known.waits = (await holdfast.enqueueMany([sendEmail.job({ to: 'grace' })], { owner: 'billing' }))[0]?.id as string
  const { id: dead } = await holdfast.enqueue(importing, {})
  const { id: unpaid } = await holdfast.enqueue(pay, {})
  for (const id of [known.report, dead, unpaid]) await serving.call('GET', `/jobs/${id}/wait?timeout=30s`)
  await worker.stop()
  const examples = httpExamples(page)
  expect(examples.length).toBeGreaterThan(20)
  for (const { method, path, body, status, answer } of examples) {
    const address = encodeURI(filled(path, known))
    const sent = body && JSON.parse(filled(JSON.stringify(body), known))
    const response = await onceThereIsTime(() => serving.call(method, address, sent, keyFor(path)))
    const text = await response.text()
    expect(response.status, `${method} ${path}: ${text}`).toBe(status)
    expectAnswer(filled(answer, known), text, `${method} ${path}`)
    if (known.id === undefined) known.id = JSON.parse(text).id
  }
})

test('has a client example that runs as it stands', { timeout: 60_000 }, async () => {
  const worker = await startWorker(serving.holdfast, [report], { logger: quiet })
  // Beside package.json, so that `holdfast` means this package, as it does for those who installed it.
  const folder = mkdtempSync(join(repository, '.readme-'))
  try {
    const [, code = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
    writeFileSync(join(folder, 'example.mjs'), code)
    const env = { ...process.env, HOLDFAST_URL: serving.address, HOLDFAST_KEY: keys.billing }
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'example.mjs')], { env, timeout: 50_000 })
    expect(stdout).toBe('created completed\n')
  } finally {
    rmSync(folder, { recursive: true })
    await worker.stop()
  }
})

test('names every method of the client, and nothing that is none', () => {
  const client = new HoldfastClient({ url: 'http://127.0.0.1:1', key: 'k' })
  const methods = Object.getOwnPropertyNames(HoldfastClient.prototype).filter((name) => name !== 'constructor')
  const [, section = ''] = /## From TypeScript([\s\S]*?)\n## /.exec(page) ?? []
  const rows = [...section.matchAll(/^\| [\w ]+ \| (`.+`) \|$/gm)].map(([, names = '']) => names)
  const named = rows.flatMap((names) => names.match(/\w+/g) ?? [])
  expect(named.sort()).toEqual([...methods, ...Object.keys(client)].sort())
})

test('names every path with the permission it needs, and every role with what it allows', async () => {
  const paths = [...page.matchAll(/^\| `([A-Z]+ \/\S*)` +\| (?:`([\w:]+)`|(any key)|none, no (key)) +\|$/gm)]
  const shown = paths.map(([, path, permission, any]) => [path, permission ?? any ?? 'open'])
  expect(shown).toEqual(Object.entries(rules).filter(([route]) => !/ \/(icon\.svg|assets\/:file)?$/.test(route)))
  const roles = [...page.matchAll(/^\| `(\w+)` +\| ((?:`[\w:]+` *)+)\|$/gm)]
  const allowed = roles.map(([, name, list = '']) => [name, list.match(/[\w:]+/g)?.sort()])
  const builtIn = (await serving.holdfast.access.roles()).filter((role) => role.builtIn)
  expect(allowed.sort()).toEqual(builtIn.map(({ name, permissions }) => [name, [...permissions].sort()]).sort())
})

test('says where KEDA finds the number, and there is one', async () => {
  const [, url = ''] = /url: "([^"]+)"/.exec(page) ?? []
  const [, location = ''] = /valueLocation: "(\w+)"/.exec(page) ?? []
  const { pathname, search } = new URL(url)
  const { key } = await serving.holdfast.access.createKey({ service: 'keda', roles: ['viewer'] }, { by: 'ada' })
  const answer = (await (await serving.call('GET', pathname + search, undefined, key)).json()) as Record<string, unknown>
  expect(answer[location]).toBeTypeOf('number')
})
