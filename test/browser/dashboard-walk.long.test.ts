/// <reference lib="dom" />
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { demoTypes, startDemo } from 'holdfast/dev'
import { startWorker, type Worker } from 'holdfast/worker'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { describeWhenInstalled } from '../support/programs.js'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

const patient = { timeout: 30_000, interval: 50 }
const axe = readFileSync(
  createRequire(new URL('../../dashboard/package.json', import.meta.url)).resolve('axe-core/axe.min.js'),
  'utf8',
)

const works = defineType({ type: 'works', run: async () => ({ done: true }) })
const picky = defineType({
  type: 'picky',
  async run({ fine }: { fine?: boolean }) {
    if (!fine) throw new FatalError('the payload is not fine')
  },
})
const order = defineWorkflow({
  name: 'order',
  tasks(task) {
    const pack = task('pack', { run: async () => 'packed' })
    return task('ship', { after: [pack], run: async () => 'shipped' })
  },
})

describeWhenInstalled('chromium', 'the dashboard, by somebody who works with it', (executablePath) => {
  let browser: Browser
  let serving: Serving
  let worker: Worker
  let page: Page
  /** The one that was started here. */
  let execution: string

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
    serving = await serve()
    worker = await startWorker(serving.holdfast, [works, picky, order], { logger: quiet })
    await serving.comeBack({ worker })
    page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
    await page.goto(`${serving.address}/#key=${adminKey}`)
  }, 60_000)
  afterAll(async () => {
    // A page asks all the time: what was asked last is not answered any more.
    await page?.unrouteAll({ behavior: 'ignoreErrors' })
    await browser?.close()
    await worker?.stop()
    await serving?.end()
  })

  const at = async (path: string) => page.goto(`${serving.address}/#${path}`)
  const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click()
  const inDialog = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  const shows = (selector: string, what: string | RegExp) =>
    vi.waitFor(async () => expect(await page.locator(selector).first().innerText()).toMatch(what), patient)

  test('starts empty, and says how to fill it', async () => {
    await at('/jobs')
    await shows('.page', /No job/)
    await at('/dead')
    await shows('.page', 'No job has failed for good')
  })

  test('selects jobs with the keyboard, sees how many are meant, cancels all that fit, and finds it in the history', async () => {
    const { holdfast } = serving
    await holdfast.enqueueMany(Array.from({ length: 60 }, () => works.job({}, { delay: '1d', tags: ['spring'] })))
    await at('/jobs?tags=spring')
    await shows('table', 'scheduled')
    for (const key of ['j', 'x', 'j', 'j', 'X']) await page.keyboard.press(key)
    await shows('.bulk', '3 selected')
    await press('select all that fit the filter')
    await press('Cancel')
    await shows('dialog', /60\s+jobs are meant/)
    await page.getByLabel('Why').fill('the wrong text')
    await page.getByLabel(/^This cannot be taken back/).fill('cancel')
    await inDialog('Cancel')
    await shows('h1', 'Bulk actions')
    await shows('table', /cancel[\s\S]*completed[\s\S]*60 done of 60[\s\S]*the wrong text/)
    expect((await holdfast.jobs({ tags: ['spring'], status: 'scheduled' })).jobs).toEqual([])
    await page.evaluate(axe)
    const found = await page.evaluate(
      async () =>
        (await (window as never as { axe: { run(): Promise<{ violations: { id: string; impact: string }[] }> } }).axe.run())
          .violations,
    )
    expect(found.filter(({ impact }) => impact === 'serious' || impact === 'critical').map(({ id }) => id)).toEqual([])
  }, 60_000)

  test('forgets what was chosen of the list before, once the rows of another filter are there', async () => {
    let answer = () => {}
    const asked = new Promise<void>((resolve) => {
      page.route(/\/jobs\?.*tags=autumn/, async (route) => {
        resolve()
        await new Promise<void>((go) => {
          answer = go
        })
        await route.continue()
      })
    })
    const autumn = await serving.holdfast.enqueue(works, {}, { delay: '1d', tags: ['autumn'] })
    const winter = await serving.holdfast.enqueue(works, {}, { delay: '1d', tags: ['winter'] })
    await at('/jobs?tags=winter')
    await shows('table', winter.id.slice(-8))
    await at('/jobs?tags=autumn')
    await asked
    await page.getByLabel(/^Select works/).click()
    await shows('.bulk', '1 selected')
    answer()
    await shows('table', autumn.id.slice(-8))
    await vi.waitFor(async () => expect(await page.locator('.bulk').count()).toBe(0), patient)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }, 60_000)

  test('pauses a type, finds out why its job waits, cancels it, and finds both in the audit log', async () => {
    await at('/types/works')
    await press('Pause')
    await page.getByLabel(/^Why/).fill('the mail server is down')
    await inDialog('Pause')
    await shows('.facts', 'paused')
    const { id } = await serving.holdfast.enqueue(works, {})
    await at(`/jobs/${id}`)
    await shows('.stack', 'the mail server is down')
    await press('Cancel')
    await inDialog('Cancel')
    await shows('.facts', 'cancelled')
    await at('/audit')
    await shows('table', /cancel job[\s\S]*pause type[\s\S]*the mail server is down/)
    await at('/types/works')
    await press('Resume')
    await inDialog('Resume')
    await shows('.facts', 'runs')
  })

  test('replays a dead letter with another payload, whose difference it shows first', async () => {
    const { id } = await serving.holdfast.enqueue(picky, { fine: false })
    await at('/dead')
    await page.locator(`a[href="#/jobs/${id}"]`).click(patient)
    await press('Edit and replay')
    await page.getByRole('textbox', { name: /^Payload/ }).fill('{ "fine": tru')
    await shows('dialog', 'This is not JSON')
    await page.getByRole('textbox', { name: /^Payload/ }).fill('{ "fine": true }')
    await shows('.diff', /-\s+goes:\s*"fine": false|"fine": false/)
    await page.getByLabel('Why').fill('it was a typing error')
    await inDialog('Edit and replay')
    await shows('.facts', 'completed')
    expect((await serving.holdfast.job(id))?.payload).toEqual({ fine: true })
  })

  test('says before and after the replay of one that an open breaker holds it back', async () => {
    const waits = 'the breaker of picky is open'
    const jobs = await serving.holdfast.enqueueMany([picky.job({}), picky.job({})])
    for (const { id } of jobs) {
      await vi.waitFor(async () => expect((await serving.holdfast.job(id))?.status).toBe('dead'), patient)
    }
    await serving.holdfast.flow.breaker('picky', 'open', { by: 'ada' })
    for (const [at, button] of ['Replay', 'Edit and replay'].entries()) {
      await page.goto(`${serving.address}/#/jobs/${jobs[at]?.id}`)
      await press(button)
      await shows('dialog', waits)
      await page.getByLabel(/^Why/).fill('it may go now')
      await inDialog(button)
      await shows('.said', `It does not run yet: ${waits}`)
      await shows('.facts', 'pending')
    }
    await serving.holdfast.flow.breaker('picky', 'close', { by: 'ada' })
  })

  test('discards only after the word was typed', async () => {
    const { id } = await serving.holdfast.enqueue(picky, {})
    await vi.waitFor(async () => expect((await serving.holdfast.job(id))?.status).toBe('dead'), patient)
    await at(`/jobs/${id}`)
    await press('Discard')
    const button = page.getByRole('dialog').getByRole('button', { name: 'Discard' })
    await page.getByLabel('Why').fill('a test')
    expect(await button.isDisabled()).toBe(true)
    await page.getByLabel(/This cannot be taken back/).fill('discard')
    await button.click()
    await shows('.facts', 'discarded')
  })

  test('approves what somebody else asked for', async () => {
    const { key } = await serving.holdfast.access.createKey({ service: 'shop', roles: ['producer'] }, { by: 'ada' })
    const asked = await serving.call('POST', '/jobs', { type: 'works', payload: { amount: 5 }, approval: true }, key)
    const { id } = (await asked.json()) as { id: string }
    await at('/approvals')
    await shows('.page', /works[\s\S]*by shop[\s\S]*"amount": 5/)
    await press('Approve')
    await inDialog('Approve')
    await vi.waitFor(async () => expect((await serving.holdfast.job(id))?.status).toBe('completed'), patient)
  })

  test('starts a workflow and sees its graph run', async () => {
    await at('/workflows')
    await press('Start a workflow')
    await page.getByRole('dialog').getByLabel('Workflow').fill('order')
    await inDialog('Start a workflow')
    await shows('.facts', 'completed')
    await vi.waitFor(async () => expect(await page.locator('.graph .task').count()).toBe(2), patient)
    execution = page.url().split('/').at(-1) as string
    expect(await serving.holdfast.executions.get(execution)).toMatchObject({ workflow: 'order' })
    await press('Rerun from a task')
    await page.getByRole('dialog').getByLabel('From').selectOption('ship')
    await page.getByLabel('Why').fill('the parcel was lost')
    await inDialog('Rerun from a task')
    await vi.waitFor(() => expect(page.url()).not.toContain(execution), patient)
    await shows('.facts', 'completed')
  })

  test('watches the jobs of the demo come and end, without a reload', async () => {
    const demoWorker = await startWorker(serving.holdfast, [...demoTypes], { logger: quiet, drain: '1s' })
    await at('/')
    const completed = async () =>
      Number((await page.locator('.counters a:has([data-status=completed]) b').innerText(patient)).replace(/\D/g, ''))
    const before = await completed()
    const loadedAt = await page.evaluate(() => performance.timeOrigin)
    const troubles: unknown[] = []
    const demo = startDemo(serving.holdfast, (error) => troubles.push(error))
    try {
      await vi.waitFor(async () => expect(await completed()).toBeGreaterThan(before + 2), patient)
      await shows('table[aria-label="Newest jobs"]', /demo_/)
      await shows('table[aria-label="Job types"]', /demo_/)
    } finally {
      await demo.stop()
      await demoWorker.stop()
    }
    expect(troubles).toEqual([])
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(loadedAt)
  }, 90_000)

  test('goes places by keys and by the palette', async () => {
    await at('/')
    await shows('h1', 'Overview')
    await page.keyboard.press('g')
    await page.keyboard.press('j')
    await shows('h1', 'Jobs')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('lanes and')
    await page.keyboard.press('Enter')
    await shows('h1', 'Lanes and workers')
    await page.keyboard.press('?')
    await shows('dialog', 'next row')
    await page.keyboard.press('Escape')
  })

  test('finds everything it did in the audit log', async () => {
    await at('/audit')
    const short = execution.slice(-8)
    await shows('table[aria-label="Audit log"]', new RegExp(`rerun execution[\\s\\S]*${short}[\\s\\S]*the parcel was lost`))
    const row = page.locator('tr', { hasText: 'rerun execution' })
    expect(await row.getByRole('link', { name: short }).getAttribute('href')).toContain(`/workflows/${execution}`)
    for (const action of ['cancel jobs', 'pause type', 'resume type', 'cancel job', 'replay', 'discard', 'approve'])
      await shows('table[aria-label="Audit log"]', new RegExp(action))
  })
})
