import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { eventually } from '../support/facts.js'

const quiet = { info() {}, warn() {}, error() {} }
const patiently = { timeout: 20_000, interval: 100 }
const note = defineType({ type: 'note', run() {} })

let queue: ScratchQueue
beforeEach(async () => {
  queue = await scratchQueue()
})
afterEach(() => queue.close())

const hour = 3_600_000

describe('the clock of a scratch queue', () => {
  test('shows the time by which the database decides, and runs on after it was moved', async () => {
    const before = await queue.clock.now()
    expect(Math.abs(before.getTime() - Date.now())).toBeLessThan(60_000)
    await queue.clock.advance('2h')
    await queue.clock.advance('30m')
    const moved = await queue.clock.now()
    expect(moved.getTime() - before.getTime()).toBeGreaterThanOrEqual(2.5 * hour)
    expect(moved.getTime() - before.getTime()).toBeLessThan(2.5 * hour + 60_000)
    await vi.waitFor(async () => expect((await queue.clock.now()).getTime()).toBeGreaterThan(moved.getTime()), patiently)
  })

  test('can be set to a time, forth and back, across a change to daylight saving time', async () => {
    for (const time of ['2031-03-01T12:00:00Z', '2031-11-05T00:30:00Z', '2025-01-01T00:00:00Z']) {
      await queue.clock.set(new Date(time))
      const now = await queue.clock.now()
      expect(now.getTime()).toBeGreaterThanOrEqual(Date.parse(time))
      expect(now.getTime()).toBeLessThan(Date.parse(time) + 60_000)
    }
  })

  test('stands where it was put for sessions in any time zone', async () => {
    await queue.clock.set(new Date('2031-03-01T12:00:00Z'))
    const elsewhere = new Holdfast({ connectionString: `${queue.connectionString}?options=-c%20TimeZone%3DAmerica/New_York` })
    const there = (await insideOf(elsewhere).store.inspect.now()).getTime()
    await elsewhere.close()
    expect(Math.abs((await queue.clock.now()).getTime() - there)).toBeLessThan(60_000)
  })

  test('refuses what is no time', async () => {
    await expect(queue.clock.set(new Date('soon'))).rejects.toMatchObject({ code: 'invalid_option' })
    await expect(queue.clock.advance('2 fortnights')).rejects.toMatchObject({ code: 'invalid_option' })
  })

  test('may be moved by many at once', async () => {
    const before = await queue.clock.now()
    await Promise.all(Array.from({ length: 8 }, () => queue.clock.advance('1h')))
    expect((await queue.clock.now()).getTime() - before.getTime()).toBeGreaterThanOrEqual(8 * hour - 1)
  })

  test('wakes a worker that sleeps until tomorrow', async () => {
    const { id } = await queue.holdfast.enqueue(note, 'tomorrow', { delay: '1d' })
    // A poll of a minute: only the notification can have woken it within this test.
    const worker = await startWorker(queue.holdfast, [note], { logger: quiet, poll: '60s' })
    await vi.waitFor(async () => expect(await idleWorkers()).toBe(1), patiently)
    await queue.clock.advance('1d')
    await vi.waitFor(async () => expect((await queue.holdfast.job(id))?.status).toBe('completed'), patiently)
    await worker.stop()
  })

  test('makes scheduled jobs due for the months and years it passes, one after the other', async () => {
    for (const delay of ['20d', '90d', '700d']) await queue.holdfast.enqueue(note, delay, { delay })
    const ran: unknown[] = []
    for (const step of ['20d', '70d', '610d']) {
      await queue.clock.advance(step)
      const { completed } = await queue.drain([note])
      ran.push(...completed.map((job) => job.payload))
    }
    expect(ran).toEqual(['20d', '90d', '700d'])
  })

  test('ends a lease it is moved past: the job of a silent worker goes to the next one', async () => {
    let attempts = 0
    let letGo: () => void = () => {}
    const slow = defineType({
      type: 'slow',
      async run(_, ctx) {
        attempts += 1
        // The first worker seems to hang; the second one does the job.
        if (ctx.job.attempt === 1) await new Promise<void>((resolve) => (letGo = resolve))
      },
    })
    const { id } = await queue.holdfast.enqueue(slow, null)
    const silent = await startWorker(queue.holdfast, [slow], { logger: quiet })
    await vi.waitFor(() => expect(attempts).toBe(1), patiently)
    // Again where the silent one, whose heart beats, renewed its lease between the two.
    await eventually(async () => {
      await queue.clock.advance('2m')
      return (await queue.drain([slow], { timeout: '3s' })).completed.length === 1
    })
    expect((await queue.holdfast.job(id))?.attempts.map((attempt) => attempt.outcome)).toEqual(['lease_expired', 'completed'])
    letGo()
    await silent.stop()
  })
})

async function idleWorkers(): Promise<number> {
  const client = new pg.Client({ connectionString: queue.connectionString })
  await client.connect()
  const { rowCount } = await client.query('select from holdfast.idle_workers')
  await client.end()
  return rowCount ?? 0
}
