/// <reference lib="dom" />
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { gzipSync } from 'node:zlib'
import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { pagePaths, unvisited } from '../support/dashboard-pages.js'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 30_000, interval: 50 }
const axe = readFileSync(
  createRequire(new URL('../../dashboard/package.json', import.meta.url)).resolve('axe-core/axe.min.js'),
  'utf8',
)

const longestFirstPaintMs = 1_000

const works = defineType({ type: 'works', run: async () => ({ done: true }) })
const dies = defineType({
  type: 'dies',
  async run() {
    throw new FatalError('the payload is not fine')
  },
})
const order = defineWorkflow({
  name: 'order',
  tasks: (task) => task('ship', { after: [task('pack', { run: async () => 'packed' })], run: async () => 'shipped' }),
})

const menu = [
  ...[
    '/',
    '/lanes',
    '/types',
    '/dependencies',
    '/jobs',
    '/new',
    '/dead',
    '/errors',
    '/bulk',
    '/approvals',
    '/schedules',
    '/batches',
    '/workflows',
  ],
  ...['/alerts', '/audit', '/keys', '/settings', '/nothing'],
]

describeWhenInstalled('chromium', 'every page of the dashboard', (executablePath) => {
  let browser: Browser
  let serving: Serving
  let worker: Worker
  let page: Page
  let pages: string[]

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
    serving = await serve()
    const { holdfast } = serving
    worker = await startWorker(holdfast, [works, dies, order], { logger: quiet })
    await serving.comeBack({ worker })
    await holdfast.schedules.create({ name: 'nightly', type: 'works', cron: '30 2 * * *' }, { by: 'ada' })
    await holdfast.flow.limitDependency('mail', { maxRunning: 2 }, { by: 'ada' }, { create: true })
    const [dead, batch, execution] = [
      await holdfast.enqueue(dies, {}),
      await holdfast.batch({ name: 'album', jobs: [works.job({})], onSuccess: works.job({}) }),
      await holdfast.start(order, {}),
    ]
    const refund = works.job({ amount: 5 }, { approval: true })
    const [asked] = await holdfast.enqueueMany([refund, works.job({}, { delay: '1d', tags: ['spring'] })])
    await holdfast.bulk({ action: 'cancel', filter: { tags: ['spring'] } }, { by: 'ada', why: 'the wrong text' })
    const groups = await vi.waitFor(async () => {
      const found = await serving.ask('/errors').then((answer) => answer.json())
      expect(found.groups).toHaveLength(1)
      return found.groups as { fingerprint: string }[]
    }, patient)
    pages = [
      ...menu,
      ...['/types/works', '/schedules/nightly', `/jobs/${dead.id}`, `/errors/${groups[0]?.fingerprint}`],
      ...[`/batches/${batch.id}`, `/workflows/${execution.id}`, `/jobs/${asked?.id}`, '/dependencies/mail'],
    ]
    page = await (await browser.newContext()).newPage()
  }, 90_000)
  afterAll(async () => {
    await browser?.close()
    await worker?.stop()
    await serving?.end()
  })

  test('the first one is less than 160 KB zipped, and allows no script but its own', async () => {
    const loaded: Promise<number>[] = []
    page.on('response', (response) => {
      if (/\/(assets\/.*)?$/.test(new URL(response.url()).pathname))
        loaded.push(response.body().then((body) => gzipSync(body).length))
    })
    const first = await page.goto(`${serving.address}/#key=${adminKey}`)
    await vi.waitFor(async () => expect(await page.locator('.plot canvas').count()).toBeGreaterThan(0), patient)
    expect((await Promise.all(loaded)).reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(160_000)
    const policy = first?.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toMatch(/unsafe|\*|data:/)
  })

  test('those that are looked at here are all there are', () => {
    expect(pagePaths().length).toBeGreaterThan(20)
    expect(unvisited(pages)).toEqual([])
  })

  test('the first one is painted within a second', async () => {
    const painted: number[] = []
    // What else the machine does makes a page late, and never early.
    for (let load = 0; load < 3; load++) {
      const context = await browser.newContext()
      const opened = await context.newPage()
      await opened.goto(`${serving.address}/#key=${adminKey}`)
      await vi.waitFor(async () => expect(await opened.locator('h1').count()).toBe(1), patient)
      painted.push(
        await opened.evaluate(
          () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
        ),
      )
      await context.close()
    }
    expect(Math.min(...painted)).toBeLessThan(longestFirstPaintMs)
  }, 90_000)

  test.each([
    ['a phone in the sun', 'light', 375],
    ['a phone at night', 'dark', 375],
    ['a desk in the sun', 'light', 1280],
    ['a desk at night', 'dark', 1280],
  ] as const)(
    'fits %s, and axe finds nothing',
    async (_where, theme, width) => {
      await page.goto(`${serving.address}/#key=${adminKey}`)
      await page.evaluate((name) => localStorage.setItem('holdfast.theme', name), theme)
      await page.reload()
      await page.setViewportSize({ width, height: 900 })
      await page.evaluate(axe)
      for (const path of pages) {
        await page.evaluate((hash) => window.location.assign(hash), `#${path}`)
        await vi.waitFor(async () => expect(await page.locator('h1').count()).toBe(1), patient)
        await vi.waitFor(async () => expect(await page.getByText('Loading …').count()).toBe(0), patient)
        const found = await page.evaluate(async () => {
          const { violations } = await (
            globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
          ).axe.run()
          return violations.map(({ id, nodes }) => `${id} ${nodes[0]?.html}`)
        })
        expect([path, ...found]).toEqual([path])
        expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBeLessThanOrEqual(width)
      }
    },
    180_000,
  )
})
