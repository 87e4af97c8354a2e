// Operations of handlers that take more than one attempt, or end with others.
import { defineType } from 'holdfast'
import { callOf, everything, transactionWith } from '../wire/trap.mjs'

const enqueue = async (stage, specs) =>
  (stage.jobs = (await stage.enqueue((requests) => stage.producer().enqueueMany(requests), specs)).map(({ id }) => id))
const startWorker = (stage, url) => stage.worker(url)
let signals = 0

/** Sends until it is told; each time another value, because the one before may have been stored. */
async function signal(stage, holdfast) {
  const [job] = stage.jobs
  for (let tries = 0; tries < 4; tries++) {
    const value = `signal ${++signals}`
    stage.note({ kind: 'signalling', job, value })
    if (await holdfast.signal(job, 'go', value).then(() => true, () => false)) return // biome-ignore format: one thought
  }
}

const during = (name, statement, spec, more = {}) => ({
  name,
  watch: () => callOf(statement),
  prepare: (stage) => enqueue(stage, [spec]),
  perform: startWorker,
  ...more,
})

const waiting = (name, statement) =>
  during(name, statement, { steps: 1, waits: 1 }, { settle: (stage) => signal(stage, stage.producer()) })

/** The same work, several jobs in one call. */
function inChunks(stage) {
  const { run } = stage.work
  const runAll = (jobs) => Promise.all(jobs.map(({ payload, ctx }) => run(payload, ctx).catch((error) => error)))
  return defineType({ type: 'work', chunk: { size: 3, wait: '100ms' }, limits: { breaker: false }, backoff: { base: 200, factor: 1, cap: 200, jitter: 50 }, run: runAll }) // biome-ignore format: one definition
}

export const stepping = [
  during('step', 'saveStep', { steps: 2, failUntil: 1 }),
  during('once', 'saveStep', { steps: 2, once: true, failUntil: 1 }),
  during('read-steps', 'stepsOfJob', { steps: 2, failUntil: 1 }),
  during('sleep', 'waitStep', { steps: 1, sleepMs: 300 }),
  during('settle-sleep', 'settleJobs', { steps: 1, sleepMs: 300 }),
  waiting('wait-for-signal', 'waitStep'),
  waiting('settle-blocked', 'settleJobs'),
  {
    name: 'signal',
    watch: everything,
    async prepare(stage) {
      await enqueue(stage, [{ waits: 1 }])
      await stage.worker()
      await stage.until(async () => (await stage.sql(`select from holdfast.jobs where status = 'blocked'`)).length > 0)
    },
    perform: (stage, url) => signal(stage, stage.producer(url)),
    settle: (stage) => signal(stage, stage.producer()),
  },
  {
    name: 'complete-with',
    watch: () => transactionWith('insert into app'),
    async prepare(stage) {
      await stage.sql('create table app (job uuid)')
      await enqueue(stage, [{ row: 'app' }, { row: 'app' }])
    },
    perform: startWorker,
    /** The row of a handler and the end of its job are one. */
    async verify(stage) {
      const wrong = await stage.sql(
        `select j.id from holdfast.jobs as j where (select count(*) from app as a where a.job = j.id) <> (j.status = 'completed')::integer`,
      )
      return wrong.map(({ id }) => `I3: job ${id} and the row of its handler did not end together`)
    },
  },
  {
    name: 'settle-chunk',
    watch: () => callOf('settleJobs'),
    async prepare(stage) {
      stage.work = inChunks(stage)
      await enqueue(stage, [{}, { failUntil: 1 }, {}])
    },
    perform: startWorker,
  },
]
