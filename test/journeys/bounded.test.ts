import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fillUntilRefused } from '../support/filling.js'

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
  describe('of jobs that do not wait for a worker', () => {
    const sql = (text: string) => insideOf(holdfast).store.database.withClient((client) => client.query(text))
    const later = { delay: '1d' } as const

    async function untilRefused(options: object, most = 50): Promise<{ taken: number; error?: unknown }> {
      for (let taken = 0; taken < most; taken++) {
        const error = await holdfast.enqueue(mail, null, options).then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        if (error) return { taken, error }
      }
      return { taken: most }
    }

    it.each([
      ['scheduled', later],
      ['unapproved', { approval: true }],
    ] as const)('takes as many %s ones as their own limit allows, and others all the same', async (part, options) => {
      await holdfast.flow.limitDepth({ type: 'mail' }, { [part]: 5, hard: 10 }, { by: 'ada' })
      const { taken, error } = await untilRefused(options)
      expect(taken).toBe(5)
      expect(error).toMatchObject({
        code: 'too_much_waiting',
        message: expect.stringContaining(`type mail has 5 ${part} jobs (limit 5)`),
      })
      expect((await fill(mail, 9, 3)).taken).toBe(3)
      await sql('select holdfast.measure_depths()')
      expect((await holdfast.flow.depthLimits()).find(({ scope }) => scope === 'type')).toMatchObject({
        counts: { [part]: 5 },
        most: { [part]: 5 },
      })
    })

    it.each([
      ['retrying', 'failed'],
      ['blocked', 'blocked'],
    ])('takes nothing more past the limit of %s ones, which jobs come to later', async (part, status) => {
      for (let at = 0; at < 5; at++) await holdfast.enqueue(mail, null, later)
      await sql(`update holdfast.waiting set status = '${status}'`)
      await holdfast.flow.limitDepth({ lane: 'default' }, { [part]: 5 }, { by: 'ada' })
      await vi.waitFor(async () => expect((await fill(mail, 9, 1)).taken).toBe(0), { timeout: 20_000, interval: 100 })
      expect((await fill(report, 9, 1)).taken).toBe(1)
      await expect(sql(`select holdfast.enqueue('mail', '{}')`)).rejects.toMatchObject({
        code: 'HF429',
        message: expect.stringContaining(`lane default has 5 ${part} jobs (limit 5)`),
      })
    })
  })

  describe('of plain SQL', () => {
    let session: pg.Client

    beforeEach(async () => {
      session = new pg.Client({ connectionString: scratch.connectionString })
      await session.connect()
    })
    afterEach(() => session.end())

    const enqueueSql = (options: object = {}, type = 'mail') =>
      session.query('select holdfast.enqueue($1, $2, $3)', [type, '{}', JSON.stringify(options)])

    /** How many of a hundred are taken, one after the other. */
    async function taken(options: object = {}): Promise<number> {
      for (let count = 0; count < 100; count++) {
        try {
          await enqueueSql(options)
        } catch (error) {
          expect(error).toMatchObject({ code: 'HF429', detail: expect.stringMatching(/^\d+$/) })
          return count
        }
      }
      return 100
    }

    it('takes as many jobs as the hard limit allows, each alone or all in one transaction, with the error of every other way', async () => {
      await holdfast.flow.limitDepth({ type: 'mail' }, { hard: 20, scheduled: 10 }, { by: 'ada' })
      await session.query('begin')
      await session.query(`select holdfast.enqueue('mail', '{}') from generate_series(1, 15)`)
      await session.query('savepoint s')
      await expect(session.query(`select holdfast.enqueue('mail', '{}') from generate_series(1, 6)`)).rejects.toMatchObject({
        code: 'HF429',
        message: 'type mail has 20 jobs waiting (soft limit none, hard limit 20); no more jobs are taken for now',
      })
      await session.query('rollback to s')
      await session.query('commit')
      expect(await taken()).toBe(5)
      expect(await taken({ delay: '1 day' })).toBe(10)
      await enqueueSql({}, 'report')
      // What the SDK says of it is the same, once somebody has counted.
      await session.query('select holdfast.measure_depths()')
      const refused = holdfast.enqueue(mail, null)
      await expect(refused).rejects.toMatchObject({
        code: 'too_much_waiting',
        message: expect.stringContaining('20 jobs waiting'),
      })
    })

    it('refuses low priorities first, and takes jobs again when some have gone', async () => {
      await holdfast.flow.limitDepth('queue', { soft: 10, hard: 100 }, { by: 'ada' })
      expect(await taken({ priority: 0 })).toBe(10)
      const five = await taken({ priority: 5 })
      expect(five).toBeGreaterThan(30)
      expect(five).toBeLessThan(70)
      expect(10 + five + (await taken({ priority: 9 }))).toBe(100)
      await session.query('delete from holdfast.queue')
      await vi.waitFor(() => enqueueSql({ priority: 0 }), { timeout: 20_000, interval: 100 })
    })
  })

  describe('of a paced import', () => {
    const dues = async (): Promise<number[]> => {
      const { rows } = await insideOf(holdfast).store.database.withClient((client) =>
        client.query(`select (extract(epoch from run_at) * 1000)::float8 as due from holdfast.bodies order by run_at`),
      )
      return rows.map(({ due }) => Number(due))
    }
    const jobs = (count: number) => Array.from({ length: count }, () => mail.job(null))

    it('lets so many become due each second, of all its calls together, in transactions too, behind more urgent work', async () => {
      const pool = new pg.Pool({ connectionString: scratch.connectionString, max: 1 })
      const shared = new Holdfast({ pool })
      const tx = await pool.connect()
      await tx.query('begin')
      await shared.enqueueMany(jobs(10), { pace: 1, tx })
      await tx.query('commit')
      tx.release()
      await Promise.all([1, 2, 3, 4].map(() => holdfast.enqueueMany(jobs(10), { pace: 1 })))
      await shared.close()
      await pool.end()
      const at = await dues()
      expect(at).toHaveLength(50)
      // One a second: the job after the next nine is due ten seconds later, whichever call it came with.
      const tenth = at.slice(10).map((due, index) => due - (at[index] as number))
      expect(Math.min(...tenth)).toBeGreaterThanOrEqual(9_990)
      expect(Math.max(...tenth)).toBeLessThan(20_000)
      const { rows } = await insideOf(holdfast).store.database.withClient((client) =>
        client.query('select distinct priority from holdfast.bodies'),
      )
      expect(rows).toEqual([{ priority: 2 }])
    })

    it('is taken whatever its length, while others come through, and not past the limit of scheduled jobs', async () => {
      await holdfast.flow.limitDepth('queue', { soft: 10, hard: 20, scheduled: 300 }, { by: 'ada' })
      await holdfast.enqueueMany(jobs(200), { pace: 1 })
      await holdfast.enqueue(mail, null)
      await expect(holdfast.enqueueMany(jobs(200), { pace: 1 })).rejects.toMatchObject({
        code: 'too_much_waiting',
        message: expect.stringContaining('scheduled jobs (limit 300)'),
      })
    })
  })
})
