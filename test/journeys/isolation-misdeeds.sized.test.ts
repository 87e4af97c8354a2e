import { Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker } from 'holdfast/worker'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { sized } from '../support/sized.js'

const many = sized({ sample: 50, whole: 1_000 })
const quiet = { info() {}, warn() {}, error() {} }
const handlers = new URL('../support/isolation/handlers.mjs', import.meta.url)

let scratch: ScratchDatabase
let holdfast: Holdfast
let worker: Worker
let sql: pg.Client

// One worker for all cases: that it is still there for the next one is half of what is proven.
beforeAll(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  worker = await startWorker(holdfast, handlers, { logger: quiet })
})
afterAll(async () => {
  await worker?.stop()
  await sql?.end()
  await holdfast?.close()
  await scratch?.drop()
})

/**
 * The bad job among a thousand others, in the long run: inline ones, isolated ones, and some of its own type that behave. Where the type has
 * a timeout of 300 ms those are of a patient one: on a busy machine even doing nothing may take longer than that.
 */
async function runAmongOthers(how: string, type: string): Promise<string> {
  const same = Array.from({ length: many / 50 }, () => ({ type: type.replace('_short', ''), payload: { how: 'nothing' } }))
  const isolated = ['fine_thread', 'fine_process'].flatMap((name) =>
    Array.from({ length: many / 25 }, () => ({ type: name, payload: 0 })),
  )
  const inline = Array.from({ length: many * 0.9 }, () => ({ type: 'fine', payload: 0 }))
  const others = [...same, ...isolated, ...inline]
  const [bad, ...rest] = await holdfast.enqueueMany([{ type, payload: { how } }, ...others])
  const ids = rest.map((enqueued) => enqueued.id)
  expect(ids).toHaveLength(many)

  const count = async () => {
    const { rows } = await sql.query('select status, count(*)::int as n from holdfast.jobs where id = any ($1) group by 1', [ids])
    return Object.fromEntries(rows.map((row) => [row.status, row.n]))
  }
  await vi.waitFor(async () => expect(await count()).toEqual({ completed: many }), { timeout: 60_000, interval: 100 })
  const { rows } = await sql.query(
    `select outcome, attempt, count(*)::int as n from holdfast.history where job_id = any ($1) and outcome <> 'handed_back' group by 1, 2`,
    [ids],
  )
  expect(rows).toEqual([{ outcome: 'completed', attempt: 1, n: many }])
  return (bad as { id: string }).id
}

interface Case {
  how: string
  outcome: string
  reason: string
  cause: RegExp
  types: [thread: string, process: string]
  /** Where a thread sees something else than a process. */
  inThread?: { outcome: string; reason: string; cause: RegExp }
}

const usual: Case['types'] = ['bad_thread', 'bad_process']
const short: Case['types'] = ['bad_short_thread', 'bad_short_process']
const roomy: Case['types'] = ['bad_roomy_thread', 'bad_roomy_process']
const memory = { outcome: 'out_of_memory', reason: 'exhausted', cause: /memory cap of 64 MB/ }

const cases: Case[] = [
  { how: 'loop', outcome: 'timed_out', reason: 'exhausted', cause: /longer than its timeout of 300 ms/, types: short },
  { how: 'never', outcome: 'timed_out', reason: 'exhausted', cause: /longer than its timeout of 300 ms/, types: short },
  { how: 'growArray', ...memory, types: usual },
  { how: 'growObjects', ...memory, types: usual },
  { how: 'growBuffers', ...memory, types: usual },
  { how: 'exit', outcome: 'crashed', reason: 'poison', cause: /exit code 3 .*process\.exit\(\)/, types: usual },
  { how: 'kill', outcome: 'crashed', reason: 'poison', cause: /ended by SIGKILL/, types: usual },
  {
    how: 'abort',
    outcome: 'crashed',
    reason: 'poison',
    cause: /ended by SIGABRT/,
    types: usual,
    // Node itself refuses it in a thread.
    inThread: { outcome: 'failed', reason: 'exhausted', cause: /process\.abort\(\) is not supported in workers/ },
  },
  { how: 'segfault', outcome: 'crashed', reason: 'poison', cause: /ended by SIGSEGV: a fault in native code/, types: usual },
  { how: 'reject', outcome: 'failed', reason: 'exhausted', cause: /nobody waited for me/, types: usual },
  { how: 'throwLater', outcome: 'failed', reason: 'exhausted', cause: /thrown in a timer/, types: usual },
  {
    how: 'hugeResult',
    outcome: 'failed',
    reason: 'fatal',
    cause: /result is more than 16777216 bytes; at most 65536/,
    types: roomy,
  },
  { how: 'importThrows', outcome: 'failed', reason: 'exhausted', cause: /this module cannot be loaded/, types: usual },
]

/** One of each kind of end in `npm test`, in one of the two places, and what a thread sees otherwise in both; all in both in the long run. */
const sample = {
  thread: ['loop', 'growArray', 'kill', 'abort', 'reject'],
  process: ['growBuffers', 'exit', 'abort', 'hugeResult'],
}

function casesIn(kind: 'thread' | 'process'): Case[] {
  return sized({ sample: cases.filter(({ how }) => sample[kind].includes(how)), whole: cases })
}

describe.each(['thread', 'process'] as const)('in a %s', (kind) => {
  it.each(casesIn(kind))(
    'a handler that does $how ends alone, and the dead letter says why',
    { timeout: 90_000 },
    async (misdeed) => {
      const id = await runAmongOthers(misdeed.how, misdeed.types[kind === 'thread' ? 0 : 1])
      await vi.waitFor(async () => expect(await holdfast.job(id)).toMatchObject({ status: 'dead' }), {
        timeout: 60_000,
        interval: 50,
      })
      const expected = (kind === 'thread' && misdeed.inThread) || misdeed
      const job = await holdfast.job(id)
      const attempts = job?.attempts.filter((attempt) => attempt.outcome !== 'handed_back')
      expect(attempts).toHaveLength(expected.reason === 'fatal' ? 1 : 2)
      for (const attempt of attempts ?? []) {
        expect(attempt.outcome).toBe(expected.outcome)
        expect((attempt.error as { message: string }).message).toMatch(expected.cause)
      }
      const { rows } = await sql.query('select reason, error from holdfast.dead_letters where job_id = $1', [id])
      expect(rows[0].reason).toBe(expected.reason)
      expect(rows[0].error.message).toMatch(expected.cause)
      if (expected.reason === 'poison') expect(rows[0].error.crashes).toHaveLength(2)
      expect(worker.health().status).toBe('ok')
    },
  )
})
