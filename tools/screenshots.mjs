// Pictures of every page of the dashboard, for README.md and docs/dashboard.md: starts the demo with a PostgreSQL of its own in a
// directory that is removed afterwards, waits until each page has something to show, and writes docs/screenshots. Build first.
//   npm run screenshots              all of them
//   npm run screenshots -- overview  those whose names begin so
import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url))
const pictures = join(root, 'docs', 'screenshots')
const only = process.argv[2] ?? ''
const desk = { width: 1280, height: 800 }
const phone = { width: 375, height: 812 }

// Run from a copy, so that stacks in the pictures do not name a directory of whoever took them.
const directory = mkdtempSync(join(tmpdir(), 'holdfast-'))
cpSync(join(root, 'dist'), join(directory, 'dist'), { recursive: true })
cpSync(join(root, 'package.json'), join(directory, 'package.json'))
symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
// Hidden from it: a database of somebody's, in which the demo would run.
const { DATABASE_URL: _theirs, ...env } = process.env
const demo = spawn(process.execPath, [join(directory, 'dist', 'cli', 'main.js'), 'up'], {
  cwd: directory,
  env: { ...env, NO_COLOR: '1' },
})
const ended = new Promise((resolve) => void demo.on('exit', resolve))
try {
  const { address, key } = await started()
  await photograph(address, key)
} finally {
  demo.kill('SIGTERM')
  await ended
  rmSync(directory, { recursive: true, force: true })
}

async function started() {
  let said = ''
  demo.stderr.pipe(process.stderr)
  demo.stdout.on('data', (data) => {
    said += data
  })
  const address = await until('the demo runs', () => /API +(http:\S+)/.exec(said)?.[1])
  return { address, key: readFileSync(join(directory, '.holdfast', 'admin.key'), 'utf8').trim() }
}

async function photograph(address, key) {
  const ask = async (path) => (await fetch(address + path, { headers: { authorization: `Bearer ${key}` } })).json()
  const first = (path, list) => until(path, async () => (await ask(path))[list]?.[0])
  // The breaker is what comes last: it opens after half a minute and closes again after another.
  await until('the breaker opens', async () =>
    (await ask('/admin/job-types')).types.find(({ type, gate }) => type === 'demo_payment' && gate?.breaker?.open),
  )
  const [waiting, dead, error, execution, batch] = [
    await first('/jobs?type=demo_export&status=pending', 'jobs'),
    await first('/jobs?status=dead', 'jobs'),
    await first('/errors', 'groups'),
    await first('/executions', 'executions'),
    await first('/batches', 'batches'),
  ]
  const pages = {
    type: '/types/demo_payment',
    overview: '/',
    lanes: '/lanes',
    types: '/types',
    dependencies: '/dependencies',
    jobs: '/jobs',
    'job-waiting': `/jobs/${waiting.id}`,
    'job-dead': `/jobs/${dead.id}`,
    'new-job': '/new?type=demo_email',
    'dead-letters': '/dead',
    errors: '/errors',
    error: `/errors/${error.fingerprint}`,
    'bulk-actions': '/bulk',
    approvals: '/approvals',
    schedules: '/schedules',
    schedule: '/schedules/demo-every-minute',
    batches: '/batches',
    batch: `/batches/${batch.id}`,
    workflows: '/workflows',
    workflow: `/workflows/${execution.id}`,
    alerts: '/alerts',
    'audit-log': '/audit',
    keys: '/keys',
    settings: '/settings',
  }
  const wanted = Object.entries(pages).filter(([name]) => name.startsWith(only))
  const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: sandbox })
  mkdirSync(pictures, { recursive: true })
  try {
    await take(browser, { address, key, viewport: desk, colorScheme: 'light' }, wanted)
    const also = wanted.filter(([name]) => ['overview', 'workflow'].includes(name))
    await take(browser, { address, key, viewport: desk, colorScheme: 'dark', suffix: '-dark' }, also)
    await take(browser, { address, key, viewport: phone, colorScheme: 'light', suffix: '-phone' }, also)
  } finally {
    await browser.close()
  }
}

async function take(browser, { address, key, viewport, colorScheme, suffix = '' }, places) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${address}/#key=${key}`)
  for (const [name, path] of places) {
    await page.locator('h1').first().waitFor()
    await page.evaluate((hash) => window.location.assign(hash), `#${path}`)
    await until(`${name} is loaded`, async () => {
      const text = await page.locator('body').innerText()
      return (await page.locator('h1').count()) === 1 && !text.includes('Loading …')
    })
    // Graphs and charts are drawn by libraries that are loaded then.
    await page.waitForLoadState('networkidle').catch(() => {})
    await pause(500)
    await page.screenshot({ path: join(pictures, `${name}${suffix}.png`) })
    console.log(`${name}${suffix}`)
  }
  await context.close()
}

async function until(what, look) {
  const deadline = Date.now() + 120_000
  while (Date.now() < deadline) {
    const found = await look()
    if (found) return found
    await pause(200)
  }
  throw new Error(`${what}: not within two minutes`)
}
