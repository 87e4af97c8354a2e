/// <reference lib="dom" />
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineType, FatalError } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { contrasts } from '../support/contrasts.js'
import { cutOff } from '../support/cut-off.js'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 20_000, interval: 50 }
const statuses = ['pending', 'processing', 'failed', 'dead', 'completed', 'scheduled', 'blocked']
const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'

const works = defineType({ type: 'works', async run() {} })
const dies = defineType({
  type: 'dies',
  async run() {
    throw new FatalError(hostile)
  },
})

describeWhenInstalled('chromium', 'the status page', (executablePath) => {
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
    await shows('#connection', 'Live')
    expect(page.url()).toBe(`${serving.address}/`)
    await page.reload()
    await shows('#connection', 'Live')
    const [cookie] = await page.context().cookies()
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', value: expect.stringMatching(/^[\w-]{43}$/) })
    const kept = await page.evaluate(() => JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]))
    expect(kept).toBe('["",{},{}]')
    expect(await text('#worker')).toContain('ok · 0 jobs run')

    const { id } = await serving.holdfast.enqueue(works, { a: 1 })
    await serving.holdfast.enqueue(works, {}, { delay: '1h' })
    await serving.holdfast.enqueue(dies, {})
    await shows('#counters [data-status=completed] .count', /^1$/)
    await shows('#counters [data-status=dead] .count', /^1$/)
    await shows('#counters [data-status=scheduled] .count', /^1$/)
    await vi.waitFor(async () => {
      const rows = await page.locator('#jobs tr').allInnerTexts()
      expect(rows.map((row) => row.split(/\s+/).slice(0, 2).join(' '))).toEqual([
        'dead dies',
        'scheduled works',
        'completed works',
      ])
    }, patient)
    expect(await page.locator('#jobs tr').nth(2).locator('td').last().textContent()).toBe(id)
    expect(await page.locator('#types tr').allInnerTexts()).toEqual([
      'dies\t0\t0\t0\t1\t0\t0\t0',
      'holdfast:webhook\t0\t0\t0\t0\t0\t0\t0',
      'works\t0\t0\t0\t0\t1\t1\t0',
    ])
    // Real tables, headed both ways, for those who hear them read.
    expect(await page.getByRole('columnheader', { name: 'Dead' }).count()).toBe(1)
    expect(await page.getByRole('rowheader', { name: 'works' }).count()).toBe(1)
    expect(alarms).toEqual([])
  })

  test('asks for the key where there is none or a wrong one, and goes on with the right one', async () => {
    await page.goto(serving.address)
    await shows('#ask h2', 'Log in with a key')
    expect(await page.isVisible('#ask')).toBe(true)
    expect(await page.isVisible('#board')).toBe(false)
    await page.fill('#key', 'hf_not-the-right-key-at-all')
    await page.keyboard.press('Enter')
    await shows('#why', 'refused')
    await page.fill('#key', adminKey)
    await page.click('#ask button')
    await shows('#connection', 'Live')
    expect(await page.isVisible('#ask')).toBe(false)
    expect(await page.inputValue('#key')).toBe('')
    expect(alarms).toEqual([])
  })

  test.each(['an open page', 'a new tab'])(
    'a link with a key in %s replaces a live session only where that is wanted',
    async (where) => {
      await page.goto(`${serving.address}/#key=${adminKey}`)
      await shows('#connection', 'Live')
      if (where === 'a new tab') page = await page.context().newPage()
      const { key } = await serving.holdfast.access.createKey({ service: 'mallory', roles: ['viewer'] }, { by: 'ada' })
      const who = () => page.evaluate(async () => (await (await fetch('/session')).json()).service)
      for (const [button, service] of [
        ['#keep', 'admin'],
        ['#change', 'mallory'],
      ] as const) {
        await page.goto(`${serving.address}/#key=${key}`)
        await shows('#now', 'admin')
        expect([page.url(), await who()]).toEqual([`${serving.address}/`, 'admin'])
        await page.click(button)
        await vi.waitFor(async () => expect(await who()).toBe(service), patient)
        expect(await page.isVisible('#replace')).toBe(false)
      }
    },
  )

  test('is left by logging out, in every tab, and asks a key that may not see it for another', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#connection', 'Live')
    const other = await page.context().newPage()
    await other.goto(serving.address)
    await vi.waitFor(async () => expect(await other.textContent('#connection')).toBe('Live'), patient)
    await page.click('#leave')
    for (const tab of [page, other]) await vi.waitFor(async () => expect(await tab.isVisible('#ask')).toBe(true), patient)
    expect(await page.isVisible('#leave')).toBe(false)
    expect(await page.context().cookies()).toEqual([])
    const { key } = await serving.holdfast.access.createKey({ service: 'shop', roles: ['producer'] }, { by: 'ada' })
    await page.fill('#key', key)
    await page.keyboard.press('Enter')
    await shows('#why', 'That key may not see this page')
  })

  test('another page of the same host changes nothing, though the browser sends the session along', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#connection', 'Live')
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

  test('says since when it is stale while the server is away, and comes back by itself', async () => {
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#connection', 'Live')
    await serving.goAway()
    await shows('#connection', /^Stale since \d\d?:\d\d:\d\d.*: the server does not answer$/)
    const since = await text('#connection')
    expect(await page.isVisible('#board')).toBe(true)
    expect(await page.title()).toBe('Holdfast (stale)')
    await serving.comeBack({ worker })
    await shows('#connection', 'Live')
    expect(await page.title()).toBe('Holdfast')
    expect(since).toContain('Stale since')
    expect(alarms).toEqual([])
  })

  test('asks for nothing while nobody can see it, and at once when somebody can', async () => {
    const other = await open()
    const asked = { hidden: 0, seen: 0 }
    page.on('request', (request) => void (request.url().endsWith('/status') && asked.hidden++))
    other.on('request', (request) => void (request.url().endsWith('/status') && asked.seen++))
    for (const one of [page, other]) await one.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#connection', 'Live')
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    const before = { ...asked }
    await vi.waitFor(() => expect(asked.seen).toBeGreaterThan(before.seen + 3), patient)
    // The one that was on its way, at most.
    expect(asked.hidden - before.hidden).toBeLessThanOrEqual(1)
    const during = asked.hidden
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: false, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await vi.waitFor(() => expect(asked.hidden).toBeGreaterThan(during), patient)
    await other.context().close()
  })

  test('a selection survives the next answer', async () => {
    const { id } = await serving.holdfast.enqueue(works, {})
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#jobs', id)
    await page.locator('#jobs .id').last().selectText()
    await serving.holdfast.enqueue(works, {})
    await vi.waitFor(async () => expect(await page.locator('#jobs tr').count()).toBe(2), patient)
    expect(await page.evaluate(() => getSelection()?.toString())).toBe(id)
  })

  test('cuts nothing off on a phone or a tablet: every column is in view, and every text has the room it needs', async () => {
    await page.context().close()
    page = await open({ viewport: { width: 375, height: 800 } })
    const long = defineType({ type: 'a_type_with_quite_a_long_name.that_somebody_gave_it', async run() {} })
    await serving.holdfast.registerTypes([long])
    await serving.holdfast.enqueueMany([long.job({}), works.job({}), dies.job({})])
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#jobs', 'dead')
    await shows('#types', long.type)
    for (const width of [700, 900, 375]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await page.evaluate(cutOff)).toEqual([])
    }
    // What a number counts stands with it, and those who hear the table read have its heads.
    const labels = await page.evaluate(() =>
      [...document.querySelectorAll('#types tr:first-child td')].map((cell) => getComputedStyle(cell, '::before').content),
    )
    expect(labels).toEqual(statuses.map((name) => `"${name}"`))
    expect(await page.getByRole('columnheader').count()).toBe(12)
  })

  test.each([
    ['a phone', 'light', 360],
    ['a phone at night', 'dark', 360],
    ['a desk', 'light', 1280],
    ['a desk at night', 'dark', 1280],
  ] as const)('fits %s, and every text can be told from its ground', async (_where, colorScheme, width) => {
    await page.context().close()
    page = await open({ viewport: { width, height: 900 }, colorScheme })
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-screenshot-'))
    const shot = async (name: string) => {
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      expect(await page.evaluate(contrasts)).toEqual([])
      const path = join(process.env.HOLDFAST_SCREENSHOTS ?? folder, `${name}-${colorScheme}-${width}.png`)
      await page.screenshot({ path, fullPage: true })
      expect(statSync(path).size).toBeGreaterThan(1000)
    }
    await page.goto(serving.address)
    await shows('#connection', 'Not connected')
    await shot('login')
    await serving.holdfast.enqueueMany([works.job({}), dies.job({}), works.job({}, { delay: '1h' })])
    await page.goto(`${serving.address}/#key=${adminKey}`)
    await shows('#jobs', 'completed')
    await shows('#jobs', 'dead')
    await shot('status')
    rmSync(folder, { recursive: true })
  })
})
