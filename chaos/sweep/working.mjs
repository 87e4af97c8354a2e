// Operations of workers. A worker that reaches the database only through the proxy does them, beside all else it does.
import { setTimeout as pause } from 'node:timers/promises'
import { callOf, statementBeginning } from '../wire/trap.mjs'

const enqueue = (stage, specs) => stage.enqueue((requests) => stage.producer().enqueueMany(requests), specs)
const startWorker = (stage, url) => stage.worker(url)
const started = (stage) => stage.until(() => stage.ledger.entries().some(({ kind }) => kind === 'start'))

/** A worker settles jobs that end this way. */
const settling = (way, specs) => ({
  name: `settle-${way}`,
  watch: () => callOf('settleJobs'),
  prepare: (stage) => enqueue(stage, specs),
  perform: startWorker,
})

/** The same operation while the type has a limit, which must hold whatever is lost. */
const limited = (name, statement, limits, promises) => ({
  name,
  watch: () => callOf(statement),
  async prepare(stage) {
    await stage.producer().registerTypes([stage.work])
    await stage.producer().flow.limit('work', limits, { by: 'ada' })
    Object.assign(stage.promises, promises)
    const names = Object.keys(promises.limits ?? promises.rates)
    await enqueue(
      stage,
      Array.from({ length: 4 }, () => ({ ms: 60, limits: names })),
    )
  },
  perform: startWorker,
})
const oneAtOnce = [{ maxRunning: 1 }, { limits: { one: 1 } }]
/** Counted at the claim and judged at the handler: on a busy machine the way between the two takes part of the window. */
const twoASecond = [{ rate: { count: 2, per: '1s' } }, { rates: { two: { count: 2, perMs: 500 } } }]

/** Lets a worker that is gone hold every free job, under a lease that is over. */
export async function loseAll(stage) {
  const [{ id }] = await stage.sql(
    `insert into holdfast.workers (name, host, pid, version) values ('gone', 'nowhere', 0, '0') returning id`,
  )
  await stage.sql(
    `with lost as (
       insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
       select nextval('holdfast.lease_seq'), $1, holdfast.now() - interval '1 minute', holdfast.now() - interval '1 second',
              array_agg(job_id) from holdfast.queue where lease_id is null having count(*) > 0
       returning id)
     update holdfast.queue set lease_id = lost.id from lost where lease_id is null`,
    [id],
  )
}

export const working = [
  {
    name: 'worker-start',
    watch: () => callOf('registerWorker'),
    prepare: (stage) => enqueue(stage, [{}]),
    perform: startWorker,
  },
  { name: 'claim', watch: () => callOf('claimJobs'), prepare: (stage) => enqueue(stage, [{}, {}, {}]), perform: startWorker },
  {
    name: 'promote',
    watch: () => callOf('tick'),
    async prepare(stage) {
      await enqueue(stage, [{ options: { delay: 100, maxAttempts: 20 } }])
      await pause(120)
    },
    perform: startWorker,
  },
  {
    name: 'heartbeat',
    watch: () => callOf('renewLeases'),
    prepare: (stage) => enqueue(stage, [{ ms: 1_200 }, {}]),
    armsItself: true,
    async perform(stage, url, arm) {
      await stage.worker(url)
      await started(stage)
      arm()
    },
  },
  settling('complete', [{}, {}, {}]),
  settling('retry', [{ failUntil: 1 }]),
  settling('exhaust', [{ failUntil: 20, ends: 'dead', options: { maxAttempts: 1 } }]),
  settling('die', [{ fatal: 'no retry can help', ends: 'dead' }]),
  settling('snooze', [{ snoozeMs: 300 }]),
  limited('claim-limited', 'claimJobs', ...oneAtOnce),
  limited('settle-limited', 'settleJobs', ...oneAtOnce),
  limited('claim-rated', 'claimJobs', ...twoASecond),
  limited('settle-rated', 'settleJobs', ...twoASecond),
  {
    name: 'checkpoint',
    watch: () => callOf('saveCheckpoint'),
    prepare: (stage) => enqueue(stage, [{ checkpoint: 'here', failUntil: 1 }]),
    perform: startWorker,
    async verify(stage) {
      const entries = stage.ledger.entries()
      const kept = entries.find(({ kind }) => kind === 'checkpointed')
      const resumed = entries.find(({ kind, attempt }) => kind === 'resumed' && attempt > kept?.attempt)
      return !resumed || resumed.value === kept.value ? [] : [`I16: the checkpoint ${kept.value} was read as ${resumed.value}`]
    },
  },
  {
    name: 'log',
    watch: () => callOf('writeLog'),
    prepare: (stage) => enqueue(stage, [{ say: 'half way', ms: 300 }]),
    perform: startWorker,
  },
  {
    name: 'settle-hand-back',
    watch: () => callOf('settleJobs'),
    prepare: (stage) => enqueue(stage, [{ gates: ['shut'] }]),
    async perform(stage, url) {
      const open = stage.gate('shut')
      const worker = await stage.worker(url)
      await started(stage)
      await worker.stop({ now: true })
      open()
    },
  },
  {
    name: 'rescue',
    watch: () => callOf('rescueLeases'),
    async prepare(stage) {
      await enqueue(stage, [{}, {}])
      await loseAll(stage)
    },
    perform: (stage, url) => stage.worker(url),
  },
  {
    name: 'listen',
    watch: () => statementBeginning('listen '),
    prepare: (stage) => stage.producer().registerTypes([stage.work]),
    async perform(stage, url, _, sprung) {
      await stage.worker(url)
      await sprung
      await enqueue(stage, [{}])
    },
  },
  {
    name: 'subscribe-idle',
    watch: () => callOf('subscribeIdle'),
    prepare: (stage) => stage.producer().registerTypes([stage.work]),
    async perform(stage, url, _, sprung) {
      await stage.worker(url)
      await sprung
      await enqueue(stage, [{}])
    },
  },
]
