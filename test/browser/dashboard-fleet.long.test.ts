/// <reference lib="dom" />
import { defineType } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 40_000, interval: 50 }
const works = defineType({ type: 'works', async run() {} })

describeWhenInstalled('chromium', 'the dashboard of a fleet', (executablePath) => {
  let browser: Browser
  let serving: Serving
  let workers: Worker[]
  let page: Page

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
    serving = await serve()
    const start = (name: string, build?: string) =>
      startWorker(serving.holdfast, [works], { logger: quiet, name, ...(build && { build }) })
    workers = [await start('plain'), await start('one', '2.4.1'), await start('two', '2.4.1')]
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
    await page.goto(`${serving.address}/#key=${adminKey}`)
  }, 60_000)
  afterAll(async () => {
    // A page asks all the time: what was asked last is not answered any more.
    await page?.unrouteAll({ behavior: 'ignoreErrors' })
    await browser?.close()
    for (const worker of workers ?? []) await worker.stop()
    await serving?.end()
  })

  const at = async (path: string) => page.goto(`${serving.address}/#${path}`)
  const row = (table: string, name: string) => page.getByRole('table', { name: table }).getByRole('row', { name })
  const cells = async (table: string, name: string) =>
    (await row(table, name).getByRole('cell').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim())
  const says = (table: string, name: string, what: RegExp) =>
    vi.waitFor(async () => expect((await cells(table, name)).join(' | ')).toMatch(what), patient)
  const claimsNothing = (worker: Worker | undefined) =>
    (worker?.health().warnings ?? []).some((warning) => warning.startsWith('it claims nothing'))
  const press = async (of: string, button: string) => {
    await row('Workers', of).getByRole('button', { name: button, exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: button, exact: true }).click()
    await vi.waitFor(async () => expect(await page.getByRole('dialog').count()).toBe(0), patient)
  }

  test('a type says how fast, how well and for how long its attempts ran, and draws where that came from', async () => {
    await page.route('**/series/types', async (route) => {
      const answer = await (await route.fetch()).json()
      const busy = {
        ...{ oldest_s: 95, ended_per_s: 2, failed_share: 0.25, run_s: { p50: 0.2, p95: 3 }, wait_s: { p50: 0.05, p95: 61 } },
        ended: [1, 5, 2],
      }
      const types = answer.types.map((one: { type: string }) => (one.type === 'works' ? { ...one, ...busy } : one))
      await route.fulfill({ json: { ...answer, types } })
    })
    await at('/types')
    await says('Job types', 'works', /1 min 35 s \| 120 \| 25% \| 200 ms p95 3.0 s \| 50 ms p95 1 min 1 s/)
    await says('Job types', 'holdfast:webhook', /– \| – \| – \| – \| –/)
    expect(await row('Job types', 'works').getByRole('img').getAttribute('aria-label')).toMatch(/latest last: 1, 5, 2$/)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280)
  })

  test('where nothing ran it says up to when, because what came since is in no step that is over', async () => {
    await page.route(/\/series\/types/, async (route) => {
      const answer = await (await route.fetch()).json()
      const types = answer.types.map((one: object) => ({ ...one, run_total_s: 0, run_p95_s: [null], wait_p95_s: [null] }))
      await route.fulfill({ json: { ...answer, types, to: '2026-03-01T10:00:00.000Z', step_ms: 120_000 } })
    })
    await at('/types')
    await page.reload()
    const card = page.locator('.card', { hasText: 'Where the time goes' })
    const words = /^No attempt began or ended in the last 15 minutes up to Mar 1, 2026, .* once its step of 2 min is over\.$/
    await vi.waitFor(async () => expect(await card.locator('.empty').innerText()).toMatch(words), patient)
  })

  test('the types that took the most time come first, each with a heat map of when its attempts were slow', async () => {
    const asked: string[] = []
    await page.route(/\/series\/types/, async (route) => {
      asked.push(new URL(route.request().url()).search)
      const answer = await (await route.fetch()).json()
      const nothing = { run_total_s: 0, run_p95_s: [null, null], wait_p95_s: [null, null], ended: [0, 0] }
      const busy: Readonly<Record<string, object>> = {
        works: { run_total_s: 30, run_p95_s: [null, 0.2], wait_p95_s: [null, 4_000], ended: [0, 150] },
        'holdfast:webhook': { run_total_s: 90, run_p95_s: [45, 0.05], wait_p95_s: [2, 0.01], ended: [2, 40] },
      }
      const types = answer.types.map((one: { type: string }) => ({ ...one, ...nothing, ...busy[one.type] }))
      await route.fulfill({ json: { ...answer, types } })
    })
    await at('/types')
    await page.reload()
    const name = 'Where the time goes'
    await says(name, 'works', /^works \| 30 s \| 25% \| 150 \|/)
    await says(name, 'holdfast:webhook', /^holdfast:webhook \| 1 min 30 s \| 75% \| 42 \|/)
    const table = page.getByRole('table', { name })
    const shades = (type: string) =>
      row(name, type)
        .locator('.heat rect')
        .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('data-shade')))
    const picture = (type: string) => row(name, type).getByRole('img').getAttribute('aria-label')
    expect(await table.locator('tbody a').allInnerTexts()).toEqual(['holdfast:webhook', 'works'])
    expect(await shades('works')).toEqual([null, '1'])
    expect(await shades('holdfast:webhook')).toEqual(['3', '0'])
    expect(await picture('holdfast:webhook')).toBe('holdfast:webhook: how long they ran: 50 ms at last, at most 45 s')
    await page.getByLabel('Heat map of').selectOption('how late they began')
    await vi.waitFor(async () => expect(await shades('works')).toEqual([null, '5']), patient)
    await page.getByLabel('Time range').selectOption('last hour')
    await vi.waitFor(() => expect(asked).toContain('?last=1h'), patient)
    expect(page.url()).toMatch(/heat=wait.*range=1h$/)
    // On a phone, where a row is a block, the picture stands under its type.
    await page.setViewportSize({ width: 375, height: 900 })
    const left = async (what: string) => (await row(name, 'works').locator(what).boundingBox())?.x
    await vi.waitFor(async () => expect(await left('.heat')).toBe(await left('a')), patient)
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  test('a type says how long its jobs took from the enqueue to the end', async () => {
    await at('/types/works')
    const fact = page.locator('dt', { hasText: 'Enqueued until completed' }).locator('xpath=following-sibling::dd[1]')
    const says = (what: RegExp) => vi.waitFor(async () => expect(await fact.innerText()).toMatch(what), patient)
    await says(/^none of its jobs completed yet$/)
    await page.route(/\/jobs\?.*status=completed/, async (route) => {
      const created_at = '2026-03-01T10:00:00.000Z'
      const jobs = Array.from({ length: 100 }, (_, at) => ({
        created_at,
        finished_at: new Date(Date.parse(created_at) + (at + 1) * 1_000),
      }))
      await route.fulfill({ json: { jobs, next: null } })
    })
    await page.reload()
    await says(/^p50\s50\ss, p95\s1\smin\s35\ss, p99\s1\smin\s39\ss\nof the newest 100 jobs that completed$/)
  })

  test('a worker says how late its event loop was, its memory and connections, also of each build', async () => {
    await at('/lanes')
    await says('Workers', 'plain', /^plain .* \| works \| – .* \| \d+(\.\d)? m?s \| \d+ MB \| [1-9]\d* \|/)
    await says('Workers', 'one', /\| 2\.4\.1 Holdfast/)
  }, 60_000)

  test('one worker of a build is drained and resumed alone, and so is one without a build', async () => {
    await at('/lanes')
    for (const [worker, name] of [
      [workers[1], 'one'],
      [workers[0], 'plain'],
    ] as const) {
      await press(name, 'Drain')
      await says('Workers', name, /\| drained \|/)
      await vi.waitFor(() => expect(claimsNothing(worker)).toBe(true), patient)
      expect(claimsNothing(workers[2])).toBe(false)
      await press(name, 'Resume')
      await says('Workers', name, /\| works \|/)
      await vi.waitFor(() => expect(claimsNothing(worker)).toBe(false), patient)
    }
    const acts = (await serving.holdfast.audit()).map(({ action }) => action).filter((action) => /worker/.test(action))
    expect(acts).toEqual(['resume_worker', 'drain_worker', 'resume_worker', 'drain_worker'])
  }, 90_000)

  test('a build is drained and resumed whole', async () => {
    await at('/lanes')
    await press('two', 'Drain build')
    for (const name of ['one', 'two']) await says('Workers', name, /\| drained \|/)
    await vi.waitFor(
      async () => expect(await row('Workers', 'one').getByRole('button').allInnerTexts()).toEqual(['Resume build']),
      patient,
    )
    await press('one', 'Resume build')
    for (const name of ['one', 'two']) await says('Workers', name, /\| works \|/)
  }, 90_000)
})
