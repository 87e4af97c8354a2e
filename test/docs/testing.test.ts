import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defineSchedule, defineType, type RunContext } from 'holdfast'
import { runJob, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('the example of the page on testing runs as it stands', { timeout: 60_000 }, async () => {
  const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8')
  // Beside package.json, so that `holdfast` means this package, as it does for those who installed it.
  const folder = mkdtempSync(join(root, '.readme-'))
  try {
    writeFileSync(join(folder, 'example.mjs'), /```js\n([\s\S]*?)```/.exec(page)?.[1] as string)
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'example.mjs')], { timeout: 50_000 })
    expect(stdout).toBe('to ada@example.com\n1 0\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('the example of code that has a Holdfast of its own runs as it stands', { timeout: 60_000 }, async () => {
  const example = blocks(docsPage('testing.md'), 'ts').find((block) => block.includes("import('./jobs.ts')")) as string
  const folder = mkdtempSync(join(root, '.readme-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (name: string, ...lines: string[]) =>
    writeFileSync(join(folder, name), lines.join('\n').replaceAll('.ts', '.mjs'))
  write(
    'jobs.mjs',
    "import { defineType, Holdfast } from 'holdfast'",
    'export const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })',
    "export const sendEmail = defineType({ type: 'send_email', run() {} })",
  )
  const placeOrder = 'export const placeOrder = (to) => holdfast.enqueue(sendEmail, { to })'
  write('order.mjs', "import { holdfast, sendEmail } from './jobs.ts'", placeOrder)
  write('example.mjs', "import { scratchQueue } from 'holdfast/testing'", example, "console.log('done')")
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'example.mjs')], { timeout: 50_000 })
  expect(stdout).toBe('done\n')
})

it('the other examples of the page on testing run as they stand, and end as their comments say', async () => {
  const queue = await scratchQueue()
  const client = new pg.Client({ connectionString: queue.connectionString })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await queue.close()
  })
  const [travel = '', inside = '', byHand = '', further = ''] = blocks(docsPage('testing.md'), 'ts')
  const makeReport = defineType({ type: 'make_report', run() {} })
  const nightlyReport = defineSchedule({ name: 'nightly', type: makeReport, payload: {}, cron: '30 2 * * *' })
  const trial = defineType({
    type: 'trial',
    async run(_payload: { user: number }, ctx: RunContext) {
      await ctx.sleep('2 days')
      return (await ctx.waitFor('paid', { timeout: '1 day' })) ?? 'ended'
    },
  })
  const reports = await runExample(`${travel}; return { completed, left }`, { queue, nightlyReport, trial, makeReport })
  expect(reports.completed.map(({ type }: { type: string }) => type).sort()).toEqual([...Array(4).fill('make_report'), 'trial'])
  expect(reports.left).toEqual([])

  const sendEmail = defineType({ type: 'send_email', run() {} })
  const db = {
    async transaction(work: (tx: pg.Client) => Promise<void>) {
      await client.query('begin')
      await work(client)
      await client.query('commit')
    },
  }
  const signUp = (tx: pg.Client, to: string) => queue.holdfast.enqueue(sendEmail, { to }, { tx })
  await runExample(inside, { queue, db, signUp, sendEmail })

  const chargeCard = defineType({
    type: 'charge_card',
    run(_payload: { order: number }, ctx: RunContext) {
      ctx.log('charging')
      return { charged: 30 }
    },
  })
  await runExample(byHand, { runJob, chargeCard, expect })
  const runs = await runExample(`${further}; return { asleep, waiting, paid, unpaid }`, { runJob, trial })
  expect(further).toContain(`status '${runs.asleep.status}', nextInMs ${runs.asleep.nextInMs}`)
  expect([runs.waiting.status, runs.paid.result, runs.unpaid.result]).toEqual(['blocked', { by: 'ada' }, 'ended'])
})
