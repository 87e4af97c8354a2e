/// <reference lib="dom" />
import { defineType } from 'holdfast'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 20_000, interval: 50 }
const works = defineType({ type: 'works', async run() {} })
const points = 10_000
/** The one step in which much happened. */
const peak = 7_000

describeWhenInstalled('chromium', 'the charts', (executablePath) => {
  let browser: Browser
  let serving: Serving
  let page: Page

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
    serving = await serve()
    await serving.holdfast.registerTypes([works])
    await serving.sql.query(
      "insert into holdfast.builds (name, first_seen) values ('2.4.1', holdfast.now() - interval '30 minutes')",
    )
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
    await page.route('**/series?*', async (route) => {
      const answer = await (await route.fetch()).json()
      const column = (value: (at: number) => number) => Array.from({ length: points }, (_, at) => value(at))
      const nothing = column(() => 0)
      const columns = Object.fromEntries(
        Object.entries(answer)
          .filter(([, one]) => Array.isArray(one))
          .map(([name]) => [name, nothing]),
      )
      const percentiles = { p50: nothing, p95: nothing, p99: nothing }
      await route.fulfill({
        json: {
          ...{ ...answer, ...columns, priorities: [], step_ms: 10_000, run_s: percentiles, wait_s: percentiles },
          from: new Date(Date.now() - points * 10_000).toISOString(),
          completed: column((at) => (at === peak ? 100 : 1)),
          waiting: column((at) => 100_000 - 90 * Math.max(0, at - 9_000)),
          wanted: column(() => 7),
          workers: column(() => 4),
        },
      })
    })
    await page.goto(`${serving.address}/#key=${adminKey}`)
  }, 60_000)
  afterAll(async () => {
    // A page asks all the time: what was asked last is not answered any more.
    await page?.unrouteAll({ behavior: 'ignoreErrors' })
    await browser?.close()
    await serving?.end()
  })

  const chart = (title: string) => page.locator('.chart', { has: page.getByText(title, { exact: true }) })
  const says = (title: string, what: RegExp) =>
    vi.waitFor(async () => expect(await chart(title).locator('figcaption').innerText()).toMatch(what), patient)

  test('of ten thousand points show a single high one, and name the value under the pointer', async () => {
    await says('In and out per minute', /completed 6\b/)
    await says('Jobs that wait and run, workers', /workers 4[\s\S]*wanted 7/)
    const canvas = chart('In and out per minute').locator('canvas')
    // Where the peak is, ink stands far above the line.
    const { x, rows } = await canvas.evaluate((element, share) => {
      const drawn = element as HTMLCanvasElement
      const { width, height } = drawn
      const { data } = (drawn.getContext('2d') as CanvasRenderingContext2D).getImageData(0, 0, width, height)
      const inked = (at: number) =>
        Array.from({ length: height }, (_, y) => data[(y * width + at) * 4 + 3] as number).filter((alpha) => alpha > 200).length
      const near = Array.from({ length: 60 }, (_, at) => Math.round(56 + (width - 76) * share) - 30 + at)
      const [best] = near.sort((one, other) => inked(other) - inked(one)) as [number]
      return { x: best / width, rows: inked(best) / height }
    }, peak / points)
    expect(rows).toBeGreaterThan(0.5)
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number; height: number }
    await page.mouse.move(box.x + x * box.width, box.y + box.height / 2)
    await says('In and out per minute', /\d\d:\d\d:\d\d/)
    await page.mouse.move(0, 0)
  })

  test('say when what waits is done, with more workers too', async () => {
    await vi.waitFor(async () => {
      const said = await page.locator('.card', { hasText: 'Over time' }).locator('header').innerText()
      // 10,090 wait, 540 fewer a minute, of which four workers end six; two more end three more.
      expect(said).toMatch(/drains in about 18 min 41 s \(18 min 41 s to 18 min 41 s\), 18 min 34 s with 2 more workers/)
    }, patient)
  })

  test('have their data as a table, of which only the rows that are seen are there', async () => {
    const data = chart('In and out per minute').locator('.chart-data')
    expect(await data.getByRole('table').count()).toBe(0)
    await data.locator('summary').click()
    const table = data.getByRole('table', { name: 'In and out per minute' })
    await vi.waitFor(async () => expect(await table.getByRole('row').count()).toBeGreaterThan(10), patient)
    expect(await table.getAttribute('aria-rowcount')).toBe(String(points + 1))
    expect(await table.getByRole('row').count()).toBeLessThan(500)
    await data
      .getByRole('region')
      .evaluate((element, share) => element.scrollTo(0, element.scrollHeight * share), 1 - peak / points)
    await vi.waitFor(async () => expect(await table.getByRole('cell', { name: '600', exact: true }).count()).toBe(1), patient)
  })

  test('name past builds where they were new, though none of their workers lives', async () => {
    await page.evaluate(() => window.location.assign('#/?range=1h'))
    const canvas = chart('In and out per minute').locator('canvas')
    const box = (await canvas.boundingBox()) as { x: number; y: number; width: number; height: number }
    const from = points * 10
    await page.mouse.move(box.x + 56 + (box.width - 76) * (1 - 1_800 / from), box.y + box.height / 2)
    await says('In and out per minute', /build 2\.4\.1 was new/)
  })

  test('numbers that change are read aloud, but not as often as they change', async () => {
    await page.clock.install()
    await page.evaluate(() => window.location.assign('#/'))
    await page.reload()
    const spoken = page.locator('.counters [aria-live]')
    await vi.waitFor(async () => expect(await spoken.count()).toBe(1), patient)
    expect(await spoken.innerText()).toBe('')
    await serving.holdfast.enqueue(works, {})
    const until = (what: RegExp) =>
      vi.waitFor(async () => {
        await page.clock.runFor(2_500)
        expect(await spoken.innerText()).toMatch(what)
      }, patient)
    await until(/^1 pending/)
    await serving.holdfast.enqueue(works, {})
    await vi.waitFor(async () => {
      await page.clock.runFor(2_000)
      expect(await page.locator('.counters a:has([data-status=pending]) b').innerText()).toBe('2')
    }, patient)
    expect(await spoken.innerText()).toMatch(/^1 pending/)
    await until(/^2 pending/)
  })
})
