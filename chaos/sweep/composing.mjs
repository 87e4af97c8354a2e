// Operations on jobs that belong together, and on schedules. Each asks under an id of its own until it is told.
import { defineWorkflow } from 'holdfast'
import { newJobId } from '../../dist/job/id.js'
import { work } from '../load/handler.mjs'
import { createSchedules, pauseSchedules, who } from '../load/schedules.mjs'
import { callOf, everything } from '../wire/trap.mjs'

const startWorker = (stage, url) => stage.worker(url)

export async function untilTold(act) {
  for (let tries = 0; tries < 4; tries++) if (await act().then(() => true, () => false)) return true // biome-ignore format: one thought
  return false
}

const often = { type: work, maxAttempts: 20 }
const workflow = defineWorkflow({
  name: 'swept',
  tasks(task) {
    const one = task('one', { ...often })
    const each = task('each', { ...often, after: [one], each: '$.input.items[*]' })
    task('last', { ...often, after: [one, each] })
  },
})

/** What has begun, and under which id; the same when it is begun again. */
function prepareExecution(stage) {
  stage.execution = newJobId()
  stage.note({ kind: 'asked', call: 'swept', count: 4 })
  return stage.producer().registerTypes([stage.work])
}

async function start(stage, holdfast) {
  const input = { call: 'swept', items: [{ call: 'swept' }, { call: 'swept' }] }
  if (await untilTold(() => holdfast.start(workflow, input, { id: stage.execution })))
    stage.note({ kind: 'begun', execution: stage.execution, call: 'swept' })
}

async function prepareBatch(stage) {
  stage.batch = newJobId()
  for (const [call, count] of [['members', 4], ['success', 1], ['failure', 1], ['complete', 1]]) stage.note({ kind: 'asked', call, count }) // biome-ignore format: one thought
  stage.batchJobs = Array.from({ length: 4 }, () => ({ ...work.job({ call: 'members' }, { maxAttempts: 20 }), id: newJobId() }))
  await stage.producer().registerTypes([stage.work])
}

async function create(stage, holdfast, { open = false, count = 4 } = {}) {
  const callback = (kind) => work.job({ call: kind, callback: kind, batch: stage.batch }, { maxAttempts: 20 })
  const request = { id: stage.batch, open, jobs: stage.batchJobs.slice(0, count), onSuccess: callback('success'), onFailure: callback('failure'), onComplete: callback('complete') } // biome-ignore format: one request
  if (await untilTold(() => holdfast.batch(request))) stage.note({ kind: 'batched', batch: stage.batch, call: 'members' })
}

const add = (stage, holdfast) => untilTold(() => holdfast.batches.add(stage.batch, stage.batchJobs.slice(2)))
const close = (stage, holdfast) => untilTold(() => holdfast.batches.close(stage.batch))

async function prepareOpen(stage, count) {
  await prepareBatch(stage)
  await create(stage, stage.producer(), { open: true, count })
}

async function prepareSchedule(stage) {
  const holdfast = stage.producer()
  await holdfast.registerTypes([stage.work])
  await createSchedules(holdfast, stage.note, ['each-second'])
}

/** What is done to a schedule that is paused, so that no other tick comes between. */
const aboutAPaused = (name, act) => ({
  name,
  watch: everything,
  async prepare(stage) {
    await prepareSchedule(stage)
    await pauseSchedules(stage.producer(), ['each-second'])
    const [{ now }] = await stage.sql('select (date_part($1, holdfast.now()) * 1000)::float8 as now', ['epoch'])
    stage.range = { from: new Date(now - 20_000), to: new Date(now - 16_000) }
  },
  perform: (stage, url) => untilTold(() => act(stage, stage.producer(url))),
  settle: (stage) => act(stage, stage.producer()),
})

export const composing = [
  {
    name: 'start-execution',
    watch: everything,
    prepare: prepareExecution,
    perform: (stage, url) => start(stage, stage.producer(url)),
    settle: (stage) => start(stage, stage.producer()),
  },
  {
    name: 'advance-execution',
    watch: () => callOf('advanceGroups'),
    async prepare(stage) {
      await prepareExecution(stage)
      await start(stage, stage.producer())
    },
    perform: startWorker,
  },
  {
    name: 'batch-create',
    watch: everything,
    prepare: prepareBatch,
    perform: (stage, url) => create(stage, stage.producer(url)),
    settle: (stage) => create(stage, stage.producer()),
  },
  {
    name: 'batch-add',
    watch: everything,
    prepare: (stage) => prepareOpen(stage, 2),
    perform: (stage, url) => add(stage, stage.producer(url)),
    async settle(stage) {
      await add(stage, stage.producer())
      await close(stage, stage.producer())
    },
  },
  {
    name: 'batch-close',
    watch: everything,
    prepare: (stage) => prepareOpen(stage, 4),
    perform: (stage, url) => close(stage, stage.producer(url)),
    settle: (stage) => close(stage, stage.producer()),
  },
  {
    name: 'advance-batch',
    watch: () => callOf('advanceGroups'),
    async prepare(stage) {
      await prepareBatch(stage)
      await create(stage, stage.producer())
    },
    perform: startWorker,
  },
  {
    name: 'schedule-fire',
    watch: () => callOf('fireSchedule'),
    async prepare(stage) {
      stage.promises.schedules = { 'each-second': { everyMs: 1_000 } }
      await prepareSchedule(stage)
    },
    async perform(stage, url, _, sprung) {
      await stage.worker(url)
      await sprung
      await stage.until(async () => (await stage.sql('select from holdfast.ticks')).length > 1)
    },
    settle: (stage) => pauseSchedules(stage.producer(), ['each-second']),
  },
  {
    name: 'schedule-pause',
    watch: everything,
    prepare: prepareSchedule,
    perform: (stage, url) => untilTold(() => stage.producer(url).schedules.pause('each-second', who)),
    settle: (stage) => stage.producer().schedules.pause('each-second', who),
  },
  aboutAPaused('schedule-resume', async (_, { schedules }) => {
    await schedules.resume('each-second', who)
    await schedules.pause('each-second', who)
  }),
  aboutAPaused('schedule-backfill', (stage, { schedules }) => schedules.backfill('each-second', stage.range, who)),
  aboutAPaused('schedule-run-now', (_, { schedules }) => schedules.runNow('each-second', who)),
  {
    name: 'resume-job',
    watch: everything,
    async prepare(stage) {
      const [{ id }] = await stage.enqueue((requests) => stage.producer().enqueueMany(requests), [{ steps: 1 }])
      stage.jobs = [id]
      await stage.producer().cancel(id, who)
    },
    perform: (stage, url) => untilTold(() => stage.producer(url).resume(stage.jobs[0], who)),
    settle: (stage) => stage.producer().resume(stage.jobs[0], who),
    async verify(stage) {
      const [{ status }] = await stage.sql('select status from holdfast.jobs where id = $1', [stage.jobs[0]])
      return status === 'completed' ? [] : [`I13: the resume of a cancelled job was acknowledged, and it is ${status}`]
    },
  },
]
