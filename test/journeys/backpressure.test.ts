import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fillUntilRefused } from '../support/filling.js'

const quiet = { info() {}, warn() {}, error() {} }
let scratch: ScratchDatabase
let holdfast: Holdfast

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  await holdfast.registerTypes([mail, report])
})
afterEach(async () => {
  await holdfast.close()
  await scratch.drop()
})

const mail = defineType({ type: 'mail', run() {} })
const report = defineType({ type: 'report', lane: 'maintenance', run() {} })

const fill = (type: typeof mail, priority: number, most?: number) => fillUntilRefused(holdfast, type, priority, most)

describe('backpressure', () => {
  it('takes exactly as many jobs as the hard limit of a type allows, and says when to come back', async () => {
    await holdfast.flow.limitDepth({ type: 'mail' }, { hard: 25 }, { by: 'ada' })
    const { taken, error } = await fill(mail, 9)
    expect(taken).toBe(25)
    expect(error).toMatchObject({ code: 'too_much_waiting', status: 429, retryable: true })
    expect((error as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(0)
    expect((error as Error).message).toContain('type mail has 25 jobs waiting')
    expect((await fill(report, 9, 3)).taken).toBe(3)
  })

  it('refuses low priorities first, then the higher ones, the closer it comes to the hard limit', async () => {
    await holdfast.flow.limitDepth({ type: 'mail' }, { soft: 10, hard: 100 }, { by: 'ada' })
    expect((await fill(mail, 0)).taken).toBe(10)
    const five = await fill(mail, 5)
    expect(five.taken).toBeGreaterThan(30)
    expect(five.taken).toBeLessThan(70)
    const nine = await fill(mail, 9)
    expect(10 + five.taken + nine.taken).toBe(100)
  })

  it('refuses several jobs whole when they do not fit', async () => {
    await holdfast.flow.limitDepth({ lane: 'maintenance' }, { hard: 10 }, { by: 'ada' })
    await expect(holdfast.enqueueMany(Array.from({ length: 11 }, () => report.job(null)))).rejects.toMatchObject({
      code: 'too_much_waiting',
    })
    expect(await insideOf(holdfast).store.inspect.countByStatus()).toEqual([])
    await holdfast.enqueueMany(Array.from({ length: 10 }, () => report.job(null)))
  })

  it('takes jobs again once the queue has drained', async () => {
    await holdfast.flow.limitDepth('queue', { hard: 5 }, { by: 'ada' })
    expect((await fill(mail, 5)).taken).toBe(5)
    const worker = await startWorker(holdfast, [mail], { logger: quiet })
    await vi.waitFor(async () => expect((await holdfast.enqueue(mail, null)).status).toBe('created'), {
      timeout: 20_000,
      interval: 100,
    })
    await worker.stop()
  })

  it('refuses the lower half of the priorities when the oldest job waits too long, and all when it waits twice as long', async () => {
    await holdfast.enqueue(mail, null)
    await holdfast.flow.limitDepth({ type: 'mail' }, { oldest: '1h' }, { by: 'ada' })
    const sql = (text: string) => insideOf(holdfast).store.database.withClient((client) => client.query(text))
    await sql(`update holdfast.queue set ready_at = ready_at - interval '90 minutes'`)
    await vi.waitFor(async () => expect((await fill(mail, 4, 1)).taken).toBe(0), { timeout: 20_000, interval: 100 })
    expect((await fill(mail, 5, 1)).taken).toBe(1)
    await sql(`update holdfast.queue set ready_at = ready_at - interval '90 minutes'`)
    await vi.waitFor(async () => expect((await fill(mail, 9, 1)).taken).toBe(0), { timeout: 20_000, interval: 100 })
  })

  describe('of a producer that only enqueues inside its own transactions', () => {
    let pool: pg.Pool

    beforeEach(() => {
      pool = new pg.Pool({ connectionString: scratch.connectionString, max: 4 })
    })
    afterEach(() => pool.end())

    /** One transaction with one job; whether it was taken. Any other failure than a refusal is one of the test. */
    async function inTransaction(by: Holdfast, ends: 'commit' | 'rollback'): Promise<boolean> {
      const tx = await pool.connect()
      try {
        await tx.query('begin')
        await by.enqueue(mail, null, { tx })
        await tx.query(ends)
        return true
      } catch (error) {
        await tx.query('rollback')
        expect(error).toMatchObject({ code: 'too_much_waiting' })
        return false
      } finally {
        tx.release()
      }
    }

    async function untilTaken(by: Holdfast): Promise<void> {
      await vi.waitFor(async () => expect(await inTransaction(by, 'commit')).toBe(true), { timeout: 20_000, interval: 50 })
    }

    it('takes many times its limit while a worker drains', async () => {
      await holdfast.flow.limitDepth('queue', { soft: 100, hard: 200 }, { by: 'ada' })
      const worker = await startWorker(holdfast, [mail], { logger: quiet })
      for (let taken = 0; taken < 600; taken++) if (!(await inTransaction(holdfast, 'commit'))) await untilTaken(holdfast)
      await worker.stop()
    })

    it('forgets jobs whose transactions were rolled back', async () => {
      await holdfast.flow.limitDepth('queue', { hard: 20 }, { by: 'ada' })
      for (let at = 0; at < 20; at++) await inTransaction(holdfast, 'rollback')
      await untilTaken(holdfast)
    })

    it('does so on a pool whose only connection the transaction holds', async () => {
      const one = new pg.Pool({ connectionString: scratch.connectionString, max: 1 })
      await pool.end()
      pool = one
      const shared = new Holdfast({ pool: one })
      await holdfast.flow.limitDepth('queue', { hard: 20 }, { by: 'ada' })
      for (let at = 0; at < 20; at++) await inTransaction(shared, 'rollback')
      const begun = performance.now()
      await inTransaction(shared, 'commit')
      // A refusal may not wait for a connection that only its own transaction can free.
      expect(performance.now() - begun).toBeLessThan(3_000)
      await untilTaken(shared)
      await shared.close()
    })

    it('still refuses what is past the limit when nothing drains', async () => {
      await holdfast.flow.limitDepth('queue', { hard: 10 }, { by: 'ada' })
      for (let at = 0; at < 10; at++) expect(await inTransaction(holdfast, 'commit')).toBe(true)
      for (let at = 0; at < 5; at++) expect(await inTransaction(holdfast, 'commit')).toBe(false)
    })
  })

  it('refuses limits and paces that cannot be meant', async () => {
    await expect(holdfast.flow.limitDepth('queue', { soft: 10, hard: 5 }, { by: 'ada' })).rejects.toThrow(
      'soft is 10, more than hard',
    )
    await expect(holdfast.flow.limitDepth('queue', { hard: 0 }, { by: 'ada' })).rejects.toThrow('hard is 0')
    await expect(holdfast.enqueueMany([mail.job(null)], { pace: 0 })).rejects.toThrow('pace is 0')
    await expect(holdfast.enqueueMany([mail.job(null, { delay: '1s' })], { pace: 1 })).rejects.toThrow('leave out delay')
  })
})
