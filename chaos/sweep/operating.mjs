// Operations of people: on single jobs, on types and on lanes. Each asks until it is told, as people do.
import { setTimeout as pause } from 'node:timers/promises'
import { now } from '../evidence/ledger.mjs'
import { everything } from '../wire/trap.mjs'

const who = { by: 'ada', why: 'a case of the sweep' }
const later = { options: { delay: 60_000, maxAttempts: 20 } }

const enqueue = async (stage, specs) =>
  (stage.jobs = (await stage.enqueue((requests) => stage.producer().enqueueMany(requests), specs)).map(({ id }) => id))

/** Undefined: nobody was told anything in four tries. */
async function untilTold(act) {
  for (let tries = 0; tries < 4; tries++) {
    const answer = await act().catch(() => undefined)
    if (answer !== undefined) return answer
  }
}

/** Cancels through this way into the queue, and keeps books of it. */
export async function cancel(stage, holdfast, job) {
  stage.note({ kind: 'cancelling', job })
  const told = await untilTold(() => holdfast.cancel(job, who))
  if (!told) return
  stage.note({ kind: 'cancelled', job, done: told.done, answer: told.status })
  if (told.done) stage.note({ kind: 'acted', action: 'cancel', job, actor: who.by })
}

/** A move of a job that is due in a minute; `act` is done through the proxy, and once more without, so that it is done. */
const moving = (name, specs, act) => ({
  name,
  watch: everything,
  prepare: (stage) => enqueue(stage, specs),
  perform: (stage, url) => act(stage, stage.producer(url)),
  settle: (stage) => act(stage, stage.producer()),
})

const moved = (action, act) => async (stage, holdfast) => {
  const [job] = stage.jobs
  const told = await untilTold(() => act(stage, holdfast, job))
  if (told?.done) stage.note({ kind: 'acted', action, job, actor: who.by })
}

/** What is done to a dead letter, which then ends as `becomes`; as in `moving`, it is done once more when that is over. */
const aboutTheDead = (action, spec, becomes) => ({
  ...moving(
    action,
    [],
    moved(action, (stage, holdfast, job) => {
      stage.note({ kind: 'reviving', job })
      return holdfast.deadLetters[action](job, who)
    }),
  ),
  async prepare(stage) {
    await enqueue(stage, [{ ...spec, options: { maxAttempts: 1 } }])
    await stage.drain()
  },
  async verify(stage) {
    const [{ status }] = await stage.sql('select status from holdfast.jobs where id = $1', [stage.jobs[0]])
    return status === becomes ? [] : [`I13: the ${action} of a dead job was acknowledged, and it is ${status}`]
  },
})

/** What is done to a type or lane, after which three jobs run that keep to it. */
const steering = (name, act, { prepare, limits, specs = [{ ms: 100 }, { ms: 100 }, { ms: 100 }] } = {}) => ({
  name,
  watch: everything,
  async prepare(stage) {
    await stage.producer().registerTypes([stage.work])
    await prepare?.(stage.producer().flow)
    if (limits) stage.promises.limits = limits
    await enqueue(
      stage,
      specs.map((spec) => ({ ...spec, ...(limits ? { limits: Object.keys(limits) } : {}) })),
    )
  },
  perform: (stage, url) => untilTold(() => act(stage.producer(url).flow).then(() => true)),
  settle: (stage) => act(stage.producer().flow),
})

const narrow = (flow) => flow.setLane('narrow', { slots: 1 }, who, { create: true })

export const operating = [
  moving('cancel-waiting', [later], (stage, holdfast) => cancel(stage, holdfast, stage.jobs[0])),
  {
    name: 'cancel-running',
    watch: everything,
    async prepare(stage) {
      stage.gate('never')
      await enqueue(stage, [{ gates: Array(20).fill('never') }])
      await stage.worker()
      await stage.until(() => stage.ledger.entries().some(({ kind }) => kind === 'start'))
    },
    perform: (stage, url) => cancel(stage, stage.producer(url), stage.jobs[0]),
    settle: (stage) => cancel(stage, stage.producer(), stage.jobs[0]),
  },
  moving('cancel-many', [later, later, later], async (stage, holdfast) => {
    for (const job of stage.jobs) stage.note({ kind: 'cancelling', job })
    const told = await untilTold(() => holdfast.cancelMany({ type: 'work' }, who))
    if (told) for (const job of stage.jobs) stage.note({ kind: 'cancelled', job, done: true, answer: 'cancelled' })
  }),
  moving(
    'set-priority',
    [{ options: { delay: 2_500, maxAttempts: 20 } }],
    moved('set_priority', (_, holdfast, job) => holdfast.setPriority(job, 9, who)),
  ),
  moving(
    'reschedule',
    [later],
    moved('reschedule', (stage, holdfast, job) => {
      stage.note({ kind: 'hurried', job, notBefore: now() + 300 })
      return holdfast.reschedule(job, { delay: 300 }, who)
    }),
  ),
  moving(
    'run-now',
    [later],
    moved('run_now', (stage, holdfast, job) => {
      stage.note({ kind: 'hurried', job, notBefore: now() })
      return holdfast.runNow(job, who)
    }),
  ),
  moving(
    'approve',
    [{ options: { approval: true, maxAttempts: 20 } }],
    moved('approve', (_, holdfast, job) => holdfast.approve(job, who)),
  ),
  moving('reject', [{ options: { approval: true, maxAttempts: 20 } }], async (stage, holdfast) => {
    const [job] = stage.jobs
    stage.note({ kind: 'cancelling', job })
    const told = await untilTold(() => holdfast.reject(job, who))
    if (told) stage.note({ kind: 'cancelled', job, done: told.done, answer: told.status })
    if (told?.done) stage.note({ kind: 'acted', action: 'reject', job, actor: who.by })
  }),
  aboutTheDead('replay', { failOnce: true }, 'completed'),
  aboutTheDead('discard', { fatal: 'no retry can help' }, 'discarded'),
  {
    ...steering('pause', (flow) => flow.pauseType('work', who)),
    async settle(stage) {
      const { flow } = stage.producer()
      await flow.pauseType('work', who)
      await stage.worker()
      // Long enough that whoever does not keep to the pause starts something.
      await pause(500)
      stage.note({ kind: 'resuming' })
      await flow.resumeType('work', { by: 'ada' })
    },
    async verify(stage) {
      const entries = stage.ledger.entries()
      const early = entries
        .slice(
          0,
          entries.findIndex(({ kind }) => kind === 'resuming'),
        )
        .find(({ kind }) => kind === 'start')
      return early ? [`I11: job ${early.job} of a paused type was started`] : []
    },
  },
  steering('resume', (flow) => flow.resumeType('work', { by: 'ada' }), { prepare: (flow) => flow.pauseType('work', who) }),
  steering('set-limits', (flow) => flow.limit('work', { maxRunning: 1 }, { by: 'ada' }), { limits: { one: 1 } }),
  {
    ...steering('set-lane', narrow, { limits: { one: 1 } }),
    async settle(stage) {
      const { flow } = stage.producer()
      await narrow(flow)
      await flow.moveType('work', 'narrow', { by: 'ada' })
    },
  },
  steering('move-type', (flow) => flow.moveType('work', 'narrow', { by: 'ada' }), {
    prepare: narrow,
    limits: { one: 1 },
    specs: [{ ms: 100 }, { ms: 100 }, { options: { delay: 300, maxAttempts: 20 } }],
  }),
]
