import { defineType, type Holdfast, type JobStatus, type UniqueOption } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import type pg from 'pg'
import { expect, vi } from 'vitest'
import { quiet } from './serving.js'

export const soon = { timeout: 20_000, interval: 100 }
export const sync = defineType({ type: 'sync' })

/** What tests of unique jobs do again and again, with what the running test was given. */
export function uniqueJobs(test: () => { holdfast: Holdfast; sql: pg.Client }) {
  return {
    enqueue: (payload: unknown, unique: UniqueOption | false, more: object = {}) =>
      test().holdfast.enqueue(sync, payload, { unique, ...more }),

    /** Moves the database's clock; time runs on from there. */
    async moveTo(time: string): Promise<void> {
      await test().sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                              as 'select pg_catalog.clock_timestamp() + interval ''${time}'''`)
    },

    async dueIn(id: string): Promise<number> {
      const { rows } = await test().sql.query(
        'select extract(epoch from due_at - holdfast.now())::float8 as s from holdfast.jobs where id = $1',
        [id],
      )
      return rows[0].s
    },

    async count(): Promise<number> {
      return (await test().sql.query('select count(*)::int as n from holdfast.jobs')).rows[0].n
    },

    /** Runs handlers that wait until they are let go, so that a job can be met while it runs. */
    async slowWorker(run: (payload: unknown, attempt: number) => unknown = () => {}) {
      const started: unknown[] = []
      const doors: (() => void)[] = []
      const type = defineType({
        type: 'sync',
        backoff: { base: 1, cap: 1, jitter: 0 },
        async run(payload, ctx) {
          started.push(payload)
          await new Promise<void>((open) => doors.push(open))
          return run(payload, ctx.job.attempt)
        },
      })
      const worker = await startWorker(test().holdfast, [type], { logger: quiet, drain: 0 })
      return { started, open: () => doors.shift()?.(), stop: () => worker.stop() }
    },

    isNow: (id: string, status: JobStatus) =>
      vi.waitFor(async () => expect((await test().holdfast.job(id))?.status).toBe(status), soon),
  }
}
