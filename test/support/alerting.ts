import { defineType, FatalError, Holdfast } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { eventually } from './facts.js'
import { quiet } from './serving.js'

export const who = { by: 'ada' }
export const failing = defineType({
  type: 'failing',
  run: () => Promise.reject(new FatalError('no')),
  limits: { breaker: false },
})

/** A database, and a worker that runs `failing` and makes the calls. */
export async function setUp(alertHosts: string[] = []) {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  const holdfast = new Holdfast({ connectionString: scratch.connectionString, alertHosts })
  const client = new pg.Client({ connectionString: scratch.connectionString })
  client.on('error', () => {})
  await client.connect()
  const worker = await startWorker(holdfast, [failing], { logger: quiet, alerts: true })
  onTestFinished(async () => {
    await worker.stop({ now: true })
    await client.end()
    await holdfast.close()
    await scratch.drop()
  })
  const sql = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows
  const calls = () =>
    sql(`select j.id::text, j.status from holdfast.jobs as j where j.type = 'holdfast:alert' order by j.created_at, j.id`)
  return {
    holdfast,
    alerts: holdfast.alerts,
    sql,
    calls,
    /** For tests of what upkeep would mend in the middle of them. */
    stopUpkeep: () => worker.stop({ now: true }),
    /** The one call there is, once it stands so. */
    callThatIs: (status: string) =>
      eventually(async () => {
        const [call, more] = await calls()
        expect(more).toBeUndefined()
        return call?.status === status && (call.id as string)
      }),
    async die(count = 1) {
      const [before] = await sql('select count(*)::int as dead from holdfast.dead_letters')
      await holdfast.enqueueMany(Array.from({ length: count }, () => failing.job({})))
      await eventually(async () => (await sql('select from holdfast.dead_letters')).length === before?.dead + count)
    },
  }
}

/** What the last attempt at a job ended with. */
export async function errorOf(holdfast: Holdfast, job: string): Promise<string | undefined> {
  return ((await holdfast.job(job))?.attempts.at(-1)?.error as { message: string } | undefined)?.message
}
