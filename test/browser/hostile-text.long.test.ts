/// <reference lib="dom" />
import { defineType, FatalError } from 'holdfast'
import { rules } from 'holdfast/server'
import { startWorker, type Worker } from 'holdfast/worker'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 20_000, interval: 50 }
const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'

/** Every page there is. Another one needs a test like those below before it stands here. */
const pages = ['/']

/** Every text the page is given, and where it shows it. A time is not shown as it comes. */
const shownAt: Record<string, string | null> = {
  version: '#version',
  'types.type': '#types th',
  'jobs.id': '#jobs .id',
  'jobs.type': '#jobs .type',
  'jobs.status': '#jobs .status',
  'jobs.error': '#jobs .error',
  'jobs.created_at': null,
  'worker.name': '#worker',
  'worker.status': '#worker',
  'worker.reason': '#worker',
}

const dies = defineType({
  type: 'dies',
  async run() {
    throw new FatalError(hostile)
  },
})

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
    worker = await startWorker(serving.holdfast, [dies], { logger: quiet, name: `worker ${hostile}` })
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
    await shows('#jobs', `FatalError: ${hostile}`)
    await shows('#types', hostile)
    await shows('#worker', hostile)
    // Whatever an attribute holds is text too.
    expect(await page.locator('#jobs .error').first().getAttribute('title')).toBe(`FatalError: ${hostile}`)
    await shows('#connection', 'Live')
    await nothingRan()
  })

  test('is shown as text in every field of what the server answers, and the list of fields is whole', async () => {
    const given = new Set<string>()
    const poisoned = (value: unknown, path: string): unknown => {
      if (Array.isArray(value)) return value.map((one) => poisoned(one, path))
      if (typeof value === 'object' && value !== null) {
        const inside = (key: string) => (path === '' ? key : `${path}.${key}`)
        return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, poisoned(one, inside(key))]))
      }
      // What is null now is a text at other times.
      if (typeof value !== 'string' && value !== null) return value
      given.add(path)
      return `${path} ${hostile}`
    }
    await serving.holdfast.enqueue(dies, {})
    await page.route('**/status', async (route) => {
      const response = await route.fetch()
      const answer = response.ok() ? poisoned(await response.json(), '') : await response.json()
      await route.fulfill({ response, json: answer })
    })
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#jobs .error', hostile)
    expect([...given].sort()).toEqual(Object.keys(shownAt).sort())
    for (const [path, selector] of Object.entries(shownAt)) if (selector) await shows(selector, `${path} ${hostile}`)
    await nothingRan()
  })

  test('is shown as text in what the server refuses with, and in the name of who is logged in', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#connection', 'Live')
    const problem = { status: 503, json: { detail: hostile } }
    await page.route('**/status', (route) => route.fulfill(problem))
    await shows('#connection', hostile)
    await page.route('**/session', (route) =>
      route.request().method() === 'POST' ? route.fulfill(problem) : route.fulfill({ json: { service: hostile } }),
    )
    await page.goto(`${serving.address}/#key=hf_another-key-that-is-long`)
    await shows('#now', hostile)
    await page.click('#change')
    await shows('#why', hostile)
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
