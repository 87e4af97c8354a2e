import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clearUp, emptyDirectory, RunningHoldfast } from '../support/holdfast-program.js'
import { isRunning, processesNaming } from '../support/machine.js'

const patient = { timeout: 60_000, interval: 50 }
const off = { env: { HOLDFAST_DEMO: 'off' } }

let directory: string
afterEach(async () => clearUp(directory))

describe('a start that is asked to stop', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('by %s leaves no process', { timeout: 120_000 }, async (signal) => {
    directory = await emptyDirectory()
    const holdfast = await RunningHoldfast.start(directory, off)
    const before = await processesNaming(directory)
    expect(before.length).toBeGreaterThan(1)
    expect(await holdfast.end(signal)).toBe(0)
    expect(before.filter(isRunning)).toEqual([])
    expect(await processesNaming(directory)).toEqual([])
  })

  test('while it is still starting stops what it has started', { timeout: 120_000 }, async () => {
    directory = await emptyDirectory()
    const holdfast = new RunningHoldfast(directory, ['up'], off)
    await vi.waitUntil(() => existsSync(join(directory, '.holdfast', 'postgres')), patient)
    expect(await holdfast.end('SIGINT')).toBe(0)
    expect(holdfast.output).not.toContain('is running')
    expect(await processesNaming(directory)).toEqual([])
  })

  test('hands back a long job without spending an attempt, and the next start runs it', { timeout: 150_000 }, async () => {
    directory = await emptyDirectory()
    const first = await RunningHoldfast.start(directory)
    const { id } = await first.enqueue({ type: 'demo_report', payload: {} })
    await untilProcessing(first, id)
    expect(await first.end('SIGINT')).toBe(0)
    expect(first.output).toMatch(/jobs? still runs?; those that have not ended in 3s are handed back/)
    expect(await processesNaming(directory)).toEqual([])

    const second = await RunningHoldfast.start(directory)
    const story = await untilProcessing(second, id)
    expect(story.attempt).toBe(1)
    expect(story.attempts.map((attempt: { outcome: string }) => attempt.outcome)).toEqual(['handed_back'])
    expect(await second.end('SIGTERM')).toBe(0)
  })

  test('and asked again goes at once, hands back what runs, and still stops Postgres', { timeout: 150_000 }, async () => {
    directory = await emptyDirectory()
    const first = await RunningHoldfast.start(directory)
    const { id } = await first.enqueue({ type: 'demo_report', payload: {} })
    await untilProcessing(first, id)
    const asked = Date.now()
    first.process.kill('SIGINT')
    await vi.waitUntil(() => first.output.includes('Stopping'), patient)
    expect(await first.end('SIGINT')).toBe(0)
    expect(await processesNaming(directory)).toEqual([])

    const second = await RunningHoldfast.start(directory)
    const { attempts } = await untilProcessing(second, id)
    expect(attempts).toMatchObject([{ outcome: 'handed_back' }])
    // Asked once, the job would have had three seconds.
    expect(Date.parse(attempts[0].ended_at) - asked).toBeLessThan(3_000)
    expect(await second.end('SIGTERM')).toBe(0)
  })
})

describe('a start that was killed with -9', () => {
  test('leaves a Postgres that the next start takes over, and jobs that run again when their lease ends', async () => {
    directory = await emptyDirectory()
    const first = await RunningHoldfast.start(directory)
    const { id } = await first.enqueue({ type: 'demo_report', payload: {} })
    await untilProcessing(first, id)
    await first.end('SIGKILL')
    const orphan = await postmaster()
    expect(isRunning(orphan)).toBe(true)

    const second = await RunningHoldfast.start(directory)
    expect(await postmaster()).toBe(orphan)
    expect(second.adminKey).toBe(first.adminKey)
    await endAllLeasesOfDeadWorkers()
    const story = await untilProcessing(second, id, 2)
    expect(story.attempts).toMatchObject([{ attempt: 1, outcome: 'lease_expired' }])
    expect(await second.end('SIGINT')).toBe(0)
    expect(isRunning(orphan)).toBe(false)
    expect(await processesNaming(directory)).toEqual([])
  }, 150_000)

  test('together with its Postgres starts again, and nothing acknowledged is lost', { timeout: 120_000 }, async () => {
    directory = await emptyDirectory()
    const first = await RunningHoldfast.start(directory)
    const { id } = await first.enqueue({ type: 'demo_email', payload: {}, delay: '1h' })
    const orphan = await postmaster()
    process.kill(orphan, 'SIGKILL')
    await first.end('SIGKILL')
    const second = await RunningHoldfast.start(directory)
    expect(await postmaster()).not.toBe(orphan)
    expect(await second.json(`/jobs/${id}`)).toMatchObject({ status: 'scheduled' })
    expect(await second.end('SIGINT')).toBe(0)
  })
})

test('two that were started in one directory share its Postgres, and the last to leave stops it', async () => {
  directory = await emptyDirectory()
  const first = await RunningHoldfast.start(directory, off)
  const second = await RunningHoldfast.start(directory, off)
  const shared = await postmaster()
  expect(second.address).not.toBe(first.address)
  expect(second.adminKey).toBe(first.adminKey)
  expect(await first.end('SIGINT')).toBe(0)
  expect(first.output).toContain('Postgres stays up')
  expect(isRunning(shared)).toBe(true)
  expect((await second.get('/status')).status).toBe(200)
  expect(await second.end('SIGINT')).toBe(0)
  expect(isRunning(shared)).toBe(false)
  expect(await processesNaming(directory)).toEqual([])
}, 120_000)

async function postmaster(): Promise<number> {
  const [file] = await clusterFiles()
  return Number.parseInt(await readFile(file as string, 'utf8'), 10)
}

async function clusterFiles(): Promise<string[]> {
  const place = join(directory, '.holdfast', 'postgres')
  return (await readdir(place)).map((name) => join(place, name, 'postmaster.pid')).filter(existsSync)
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the server answers is what the test looks at
async function untilProcessing(holdfast: RunningHoldfast, id: string, attempt = 1): Promise<any> {
  return vi.waitFor(async () => {
    const story = await holdfast.json(`/jobs/${id}`)
    expect(story).toMatchObject({ status: 'processing', attempt })
    return story
  }, patient)
}

/** Leases last a minute. The worker that was killed can renew none; that they end now instead of then is all that is made up. */
async function endAllLeasesOfDeadWorkers(): Promise<void> {
  const sql = new pg.Client((await readFile(join(directory, '.holdfast', 'database.url'), 'utf8')).trim())
  onTestFinished(async () => void (await sql.end().catch(() => {})))
  sql.on('error', () => {})
  await sql.connect()
  await sql.query(`update holdfast.leases set expires_at = now()
                   where worker_id < (select max(id) from holdfast.workers)`)
}
