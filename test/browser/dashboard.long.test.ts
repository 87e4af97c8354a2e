/// <reference lib="dom" />
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { defineType, FatalError } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 20_000, interval: 50 }
const connection = '.person [role=status]'
const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'

const works = defineType({ type: 'works', async run() {} })
const dies = defineType({
  type: 'dies',
  async run() {
    throw new FatalError(hostile)
  },
})

describeWhenInstalled('chromium', 'the dashboard', (executablePath) => {
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
    worker = await startWorker(serving.holdfast, [works, dies], { logger: quiet, name: `worker ${hostile}` })
    await serving.comeBack({ worker })
    page = await open()
  }, 60_000)
  afterEach(async () => {
    await page.context().close()
    await worker.stop()
    await serving.end()
  })

  /** A window of its own, with everything that a page must not do noted. */
  async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context = await browser.newContext(options)
    const opened = await context.newPage()
    alarms = []
    opened.on('dialog', (dialog) => {
      alarms.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    opened.on('pageerror', (error) => alarms.push(`error: ${error.message}`))
    opened.on('console', (message) => {
      // A server that is away shows as a failed request, which is what the stale page is about.
      if (message.type() === 'error' && !/ERR_CONNECTION|40[013]|503|net::/.test(message.text())) alarms.push(message.text())
    })
    return opened
  }

  const text = async (selector: string): Promise<string> => (await page.textContent(selector)) ?? ''
  const shows = (selector: string, what: string | RegExp) =>
    vi.waitFor(async () => expect(await text(selector)).toMatch(what), patient)

  test('takes the key out of the address, exchanges it for a session, keeps it nowhere, and shows what there is, live', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows(connection, /^live$/)
    expect(page.url()).toBe(`${serving.address}/#/`)
    await page.reload()
    await shows(connection, /^live$/)
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', value: expect.stringMatching(/^[\w-]{43}$/) })
    const kept = await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]))
    expect(kept).toBe('["",{},{}]')

    const { id } = await serving.holdfast.enqueue(works, { a: 1 })
    await serving.holdfast.enqueue(works, {}, { delay: '1h' })
    await serving.holdfast.enqueue(dies, {})
    for (const status of ['completed', 'dead', 'scheduled']) await shows(`.counters a:has([data-status=${status}]) b`, /^1$/)
    const newest = page.getByRole('table', { name: 'Newest jobs' })
    await vi.waitFor(async () => {
      const rows = await newest.getByRole('row').allInnerTexts()
      expect(rows.slice(1).map((row) => row.split(/\s+/)[0])).toEqual(['dies', 'works', 'works'])
    }, patient)
    expect(await newest.locator(`a[href="#/jobs/${id}"]`).count()).toBe(1)
    // Real tables, for those who hear them read.
    expect(await newest.getByRole('columnheader', { name: 'Status' }).count()).toBe(1)
    expect(alarms).toEqual([])
  })

  test('asks for the key where there is none or a wrong one, and goes on with the right one', async () => {
    await page.goto(serving.address)
    await shows('.sign-in h2', 'Log in with a key')
    await page.fill('input[name=key]', 'hf_not-the-right-key-at-all')
    await page.keyboard.press('Enter')
    await shows('[role=alert]', 'the key is not valid')
    await page.fill('input[name=key]', adminKey)
    await page.getByRole('button', { name: 'Log in' }).click()
    await shows(connection, /^live$/)
    expect(alarms).toEqual([])
  })

  test.each(['an open page', 'a new tab'])(
    'a link with a key in %s replaces a live session only where that is wanted',
    async (where) => {
      await page.goto(`${serving.address}/#key=${adminKey}`)
      await shows(connection, /^live$/)
      if (where === 'a new tab') page = await page.context().newPage()
      const { key } = await serving.holdfast.access.createKey({ service: 'mallory', roles: ['viewer'] }, { by: 'ada' })
      const who = () => page.evaluate(async () => (await (await fetch('/session')).json()).service)
      for (const [button, service] of [
        ['Stay admin', 'admin'],
        ['Change to the key of the link', 'mallory'],
      ] as const) {
        await page.goto(`${serving.address}/#key=${key}`)
        await shows('.sign-in b', 'admin')
        expect([page.url(), await who()]).toEqual([`${serving.address}/#/`, 'admin'])
        await page.getByRole('button', { name: button }).click()
        await vi.waitFor(async () => expect(await who()).toBe(service), patient)
        await shows('.who', service)
      }
    },
  )

  test('is left by logging out, in every tab, and shows a key what it may see and do, and no more', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows(connection, /^live$/)
    const other = await page.context().newPage()
    await other.goto(serving.address)
    await vi.waitFor(async () => expect(await other.textContent(connection)).toBe('live'), patient)
    await page.getByRole('button', { name: 'Log out' }).click()
    for (const tab of [page, other]) await vi.waitFor(async () => expect(await tab.isVisible('.sign-in')).toBe(true), patient)
    expect(await page.context().cookies()).toEqual([])
    const { key } = await serving.holdfast.access.createKey({ service: 'wall', roles: ['viewer'] }, { by: 'ada' })
    await page.fill('input[name=key]', key)
    await page.keyboard.press('Enter')
    await shows('h1', 'Overview')
    expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0)
    await page.goto(`${serving.address}/#/types`)
    await shows('table', 'works')
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
    await page.goto(`${serving.address}/#/keys`)
    await shows('.page', 'needs the permission admin')
  })

  test('another page of the same host changes nothing, though the browser sends the session along', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows(connection, /^live$/)
    const stranger = createServer((_request, response) => void response.setHeader('content-type', 'text/html').end('<p>hello'))
    await new Promise<void>((resolve) => void stranger.listen(0, '127.0.0.1', resolve))
    try {
      const other = await page.context().newPage()
      await other.goto(`http://127.0.0.1:${(stranger.address() as AddressInfo).port}/`)
      // Seen from the server: the browser keeps the answer from the page that asked.
      const answered = new Promise<{ status: number; cookie: string | undefined }>((resolve) => {
        serving.app().server.on('request', (request, response) => {
          const { url, headers } = request
          if (url?.endsWith('/pause'))
            response.on('finish', () => resolve({ status: response.statusCode, cookie: headers.cookie }))
        })
      })
      await other.evaluate(
        (url) => void fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }).catch(() => {}),
        `${serving.address}/admin/job-types/works/pause`,
      )
      // That it was refused for where it came from, and not because nobody was logged in.
      expect(await answered).toEqual({ status: 403, cookie: expect.stringMatching(/^holdfast-\d+=/) })
      expect(await serving.holdfast.audit({ action: 'pause_type' })).toEqual([])
    } finally {
      stranger.closeAllConnections()
      await new Promise((resolve) => stranger.close(resolve))
    }
  })

  test('says for how long it is stale while the server is away, and comes back by itself', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows(connection, /^live$/)
    await serving.goAway()
    await shows(connection, /^stale for \d/)
    expect(await page.isVisible('.counters')).toBe(true)
    await serving.comeBack({ worker })
    await shows(connection, /^live$/)
    expect(alarms).toEqual([])
  })

  test('asks for nothing while nobody can see it, and at once when somebody can', async () => {
    const other = await open()
    const asked = { hidden: 0, seen: 0 }
    page.on('request', (request) => void (request.url().endsWith('/status') && asked.hidden++))
    other.on('request', (request) => void (request.url().endsWith('/status') && asked.seen++))
    for (const one of [page, other]) await one.goto(`${serving.address}/#key=${adminKey}`)
    await shows(connection, /^live$/)
    await page.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    const before = { ...asked }
    await vi.waitFor(() => expect(asked.seen).toBeGreaterThan(before.seen + 3), patient)
    // The one that was on its way, at most.
    expect(asked.hidden - before.hidden).toBeLessThanOrEqual(1)
    const during = asked.hidden
    await page.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { value: 'visible', configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await vi.waitFor(() => expect(asked.hidden).toBeGreaterThan(during), patient)
    await other.context().close()
  })
})
