/// <reference lib="dom" />
import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { rules } from 'holdfast/server'
import { startWorker, type Worker } from 'holdfast/worker'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { unvisited } from '../support/dashboard-pages.js'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 20_000, interval: 50 }
const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'

/** Every page there is. Another one needs a test like those below before it stands here. */
const pages = ['/']

/** Every place of the page. */
const places = [
  ...[
    '/',
    '/lanes',
    '/types',
    '/types/dies',
    '/dependencies',
    '/dependencies/mail',
    '/jobs',
    '/dead',
    '/errors',
    '/approvals',
    '/schedules',
    '/batches',
    '/workflows',
    '/alerts',
  ],
  ...['/bulk', '/audit', '/keys', '/settings', '/new'],
]

const dies = defineType({
  type: 'dies',
  async run(_payload, { log }) {
    await log(hostile)
    throw new FatalError(hostile)
  },
})
const order = defineWorkflow({ name: 'order', tasks: (task) => void task('pack', { run: () => hostile }) })

describeWhenInstalled('chromium', 'hostile text in data', (executablePath) => {
  let browser: Browser
  let serving: Serving
  let worker: Worker
  let page: Page
  let alarms: string[]

  beforeAll(async () => {
    // Chromium's own sandbox does not work for root; what it opens here is only ours.
    browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
  }, 60_000)
  afterAll(() => browser?.close())

  beforeEach(async () => {
    serving = await serve()
    worker = await startWorker(serving.holdfast, [dies, order], { logger: quiet, name: `worker ${hostile}` })
    await serving.comeBack({ worker })
    page = await (await browser.newContext()).newPage()
    alarms = []
    page.on('dialog', (dialog) => {
      alarms.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('pageerror', (error) => alarms.push(`error: ${error.message}`))
    // What the policy of the page kept from running is as bad: it was there as HTML.
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) alarms.push(message.text())
    })
  }, 60_000)
  afterEach(async () => {
    // A page asks all the time: what was asked last is not answered any more.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.context().close()
    await worker.stop()
    await serving.end()
  })

  const shows = (selector: string, what: string) =>
    vi.waitFor(async () => expect(await page.textContent(selector)).toContain(what), patient)
  const nothingRan = async () => {
    expect(await page.locator('img[src=x], body script').count()).toBe(0)
    expect(alarms).toEqual([])
  }

  test('is shown as text where it came through the database: types, errors, the name of a worker', async () => {
    const { sql, holdfast } = serving
    await sql.query('insert into holdfast.types (name, lane_id) values ($1, 1)', [hostile])
    await holdfast.enqueue(hostile, { [hostile]: hostile })
    await holdfast.enqueue(dies, hostile)
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('table[aria-label="Newest jobs"]', `FatalError: ${hostile}`)
    await shows('table[aria-label="Job types"]', hostile)
    await page.goto(`${serving.address}/#/lanes`)
    await shows('table[aria-label=Workers]', hostile)
    await nothingRan()
  })

  test('is shown as text in every field of every answer, on every page', async () => {
    const poisoned = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(poisoned)
      if (typeof value === 'object' && value !== null)
        return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, poisoned(one)]))
      return typeof value === 'string' ? `${value} ${hostile}` : value
    }
    const { holdfast } = serving
    const { id } = await holdfast.enqueue(dies, { a: hostile })
    const batch = await holdfast.batch({ name: hostile, jobs: [dies.job(hostile)] })
    const execution = await holdfast.start(order, hostile)
    await holdfast.flow.limitDependency('mail', { maxRunning: 2 }, { by: hostile, why: hostile }, { create: true })
    await holdfast.schedules.create({ name: 'nightly', type: dies, cron: '0 3 * * *' }, { by: hostile, why: hostile })
    const [group] = await vi.waitFor(async () => {
      const groups = await holdfast.errorGroups.list()
      expect(groups).toHaveLength(1)
      return groups
    }, patient)
    const ones = [`/errors/${group?.fingerprint}`, '/schedules/nightly', `/batches/${batch.id}`, `/workflows/${execution.id}`]
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('h1', 'Overview')
    await page.route(
      /\/(status|jobs|bulk|series|batches|executions|errors|workflows|admin|autoscale|session\/ways)\b/,
      async (route) => {
        const response = await route.fetch()
        const json = response.headers()['content-type']?.includes('json')
        await (json ? route.fulfill({ response, json: poisoned(await response.json()) }) : route.fulfill({ response }))
      },
    )
    const all = [...places, ...ones, `/jobs/${id}`]
    expect(unvisited(all)).toEqual([])
    for (const place of all) {
      await page.evaluate((hash) => window.location.assign(hash), `#${place}`)
      await vi.waitFor(async () => expect(await page.locator('h1').count()).toBe(1), patient)
      await vi.waitFor(async () => expect(await page.getByText('Loading …').count()).toBe(0), patient)
      expect([place, await page.locator('h1').innerText()]).not.toContain('This page could not be shown')
    }
    await shows('.page', hostile)
    // The log comes as a stream of events, from the handler itself.
    await shows('section.log', hostile)
    await nothingRan()
  })

  test('is shown as text in what the server refuses with, and in the name of who is logged in', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('h1', 'Overview')
    const problem = { status: 403, json: { detail: hostile } }
    await page.route('**/admin/audit**', (route) => route.fulfill(problem))
    await page.goto(`${serving.address}/#/audit`)
    await shows('.page', hostile)
    const session = { service: hostile, permissions: ['admin'], types: null, ends_at: null, trace_url: null }
    await page.route('**/session', (route) =>
      route.request().method() === 'POST' ? route.fulfill(problem) : route.fulfill({ json: session }),
    )
    await page.reload()
    await shows('.who', hostile)
    await page.route('**/session/ways', (route) => route.fulfill({ json: { key: hostile, oidc: hostile } }))
    await page.goto(`${serving.address}/#key=hf_another-key-that-is-long`)
    await shows('.sign-in b', hostile)
    await page.getByRole('button', { name: 'Change to the key' }).click()
    await shows('.said', hostile)
    await nothingRan()
  })

  test('meets no page but those tested here', async () => {
    const html: string[] = []
    for (const route of Object.keys(rules)) {
      const [method, path = ''] = route.split(' ')
      if (method !== 'GET') continue
      const controller = new AbortController()
      const headers = { authorization: `Bearer ${adminKey}`, accept: 'text/html' }
      const url = serving.address + path.replace(/:\w+/g, '018f0000-0000-7000-8000-000000000009')
      const response = await fetch(url, { headers, signal: controller.signal })
      if (response.headers.get('content-type')?.includes('html')) html.push(path)
      // A stream would go on.
      controller.abort()
    }
    const lost = await fetch(`${serving.address}/${encodeURIComponent(hostile)}`, { headers: { accept: 'text/html' } })
    expect(lost.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(html).toEqual(pages)
  })
})
