// What people do to batches, executions and schedules. Each asks until it is told, and once more when nothing is broken any more.
import { defineSchedule, defineWorkflow } from 'holdfast'
import { newJobId } from '../../dist/job/id.js'
import { work } from '../load/handler.mjs'
import { who } from '../load/schedules.mjs'
import { callOf, everything } from '../wire/trap.mjs'
import { untilTold } from './composing.mjs'

/** Due long after the case is over. */
const later = { maxAttempts: 20, delay: '1h' }
/** Fails at its first run, for which it has one attempt. */
const failing = { failOnce: true }

/** Done through the proxy, and once more without it; `done` is what a person would look at afterwards. */
const steering = (name, { prepare, act, done }) => ({
  name,
  watch: everything,
  prepare,
  perform: (stage, url) => untilTold(() => act(stage, stage.producer(url))),
  settle: (stage) => untilTold(() => act(stage, stage.producer())),
  async verify(stage) {
    const wrong = await done(stage)
    return wrong ? [`I13: ${name} was asked for twice, and ${wrong}`] : []
  },
})

const statusOf = async (stage, table, id) =>
  (await stage.sql(`select status from holdfast.${table} where id = $1`, [id]))[0]?.status

/** Everything has ended, and what is above it knows. */
async function ended(stage, table, id) {
  await stage.drain({ withinMs: 60_000 })
  if ((await statusOf(stage, table, id)) !== 'failed') throw new Error(`the first run of ${id} did not fail in time`)
}

/** A batch of two with all callbacks, which may each come once in every round. */
async function makeBatch(stage, payload, options) {
  stage.batch = newJobId()
  const callback = (kind) => {
    stage.note({ kind: 'asked', call: kind, count: 2 })
    return work.job({ call: kind, callback: kind, batch: stage.batch }, { maxAttempts: 20 })
  }
  stage.note({ kind: 'asked', call: 'members', count: 2 })
  const jobs = [1, 2].map(() => ({ ...work.job({ call: 'members', ...payload }, options), id: newJobId() }))
  await stage.producer().registerTypes([stage.work])
  await stage.producer().batch({ id: stage.batch, jobs, onSuccess: callback('success'), onFailure: callback('failure'), onComplete: callback('complete') }) // biome-ignore format: one request
  stage.note({ kind: 'batched', batch: stage.batch, call: 'members' })
  return jobs.map(({ id }) => id)
}

/** Two tasks one after the other; the second does what is given. */
async function startExecution(stage, payload, options) {
  stage.execution = newJobId()
  stage.note({ kind: 'asked', call: 'people', count: 6 })
  const task = (more) => ({ type: work, maxAttempts: 20, payload: { call: 'people', ...more } })
  const workflow = defineWorkflow({
    name: 'people',
    tasks(define) {
      const first = define('first', task({}))
      define('last', { ...task(payload), ...options, after: [first] })
    },
  })
  await stage.producer().registerTypes([stage.work])
  await stage.producer().start(workflow, {}, { id: stage.execution })
  stage.note({ kind: 'begun', execution: stage.execution, call: 'people' })
}

/** An execution whose last task has died. */
async function failedExecution(stage) {
  await startExecution(stage, failing, { maxAttempts: 1 })
  await ended(stage, 'executions', stage.execution)
  for (const { job_id: job } of await stage.sql('select job_id from holdfast.dead_letters')) stage.note({ kind: 'reviving', job })
}

/** Ticks at the turn of the year, and so in no case. */
const yearly = (name, priority = 5) =>
  defineSchedule({ name, type: 'work', payload: { call: name }, cron: '0 0 1 1 *', priority })
const schedulesAre = async (stage, wanted) => {
  const rows = await stage.sql(
    `select name || ' ' || (holdfast.schedule_spec(s) ->> 'priority') as is from holdfast.schedules as s order by name`,
  )
  const are = rows.map((row) => row.is).join(', ')
  return are === wanted ? undefined : `the schedules are: ${are}`
}
const define = (stage, ...all) => stage.producer().schedules.define(all)
const create = (name, holdfast) =>
  holdfast.schedules.create({ name, type: 'work', payload: { call: name }, cron: '0 0 1 1 *', priority: 5 }, who)
/** The second time it was done already. */
const unless = (code) => (error) => {
  if (error.code !== code) throw error
}

export const steeringComposed = [
  steering('batch-cancel', {
    prepare: (stage) => makeBatch(stage, {}, later),
    act: (stage, holdfast) => holdfast.batches.cancel(stage.batch, who),
    async done(stage) {
      const status = await statusOf(stage, 'batches', stage.batch)
      return status === 'cancelled' ? undefined : `the batch is ${status}`
    },
  }),
  steering('batch-retry', {
    async prepare(stage) {
      const members = await makeBatch(stage, failing, { maxAttempts: 1 })
      await ended(stage, 'batches', stage.batch)
      for (const job of members) stage.note({ kind: 'reviving', job })
      stage.note({ kind: 'retried', batch: stage.batch })
    },
    act: (stage, holdfast) => holdfast.batches.retry(stage.batch, who),
    async done(stage) {
      const status = await statusOf(stage, 'batches', stage.batch)
      return status === 'succeeded' ? undefined : `the batch ${status}`
    },
  }),
  steering('execution-cancel', {
    prepare: (stage) => startExecution(stage, {}, { delay: '1h' }),
    act: (stage, holdfast) => holdfast.executions.cancel(stage.execution, who),
    async done(stage) {
      const status = await statusOf(stage, 'executions', stage.execution)
      return status === 'cancelled' ? undefined : `the execution is ${status}`
    },
  }),
  steering('execution-resume', {
    prepare: failedExecution,
    act: (stage, holdfast) => holdfast.executions.resume(stage.execution, who),
    async done(stage) {
      const status = await statusOf(stage, 'executions', stage.execution)
      return status === 'completed' ? undefined : `the execution is ${status}`
    },
  }),
  steering('execution-rerun', {
    async prepare(stage) {
      await failedExecution(stage)
      stage.again = newJobId()
    },
    act: (stage, holdfast) => holdfast.executions.rerun(stage.execution, 'last', who, { id: stage.again }),
    async done(stage) {
      const status = await statusOf(stage, 'executions', stage.again)
      const jobs = await stage.sql('select from holdfast.members where group_id = $1', [stage.again])
      return jobs.length === 1 && ['completed', 'failed'].includes(status)
        ? undefined
        : `it is ${status} with ${jobs.length} jobs`
    },
  }),
  steering('schedule-define', {
    prepare: (stage) => stage.producer().registerTypes([stage.work]),
    act: (_, holdfast) => holdfast.schedules.define([yearly('one'), yearly('two', 7)]),
    done: (stage) => schedulesAre(stage, 'one 5, two 7'),
  }),
  steering('schedule-create', {
    prepare: (stage) => stage.producer().registerTypes([stage.work]),
    act: (_, holdfast) => create('one', holdfast).catch(unless('conflict')),
    done: (stage) => schedulesAre(stage, 'one 5'),
  }),
  steering('schedule-reset', {
    async prepare(stage) {
      await stage.producer().registerTypes([stage.work])
      await define(stage, yearly('one'))
      await stage.producer().schedules.change('one', { priority: 9 }, who)
    },
    act: (_, holdfast) => holdfast.schedules.reset('one', who),
    done: (stage) => schedulesAre(stage, 'one 5'),
  }),
  steering('schedule-change', {
    async prepare(stage) {
      await stage.producer().registerTypes([stage.work])
      await define(stage, yearly('one'))
    },
    act: (_, holdfast) => holdfast.schedules.change('one', { priority: 9 }, who),
    done: (stage) => schedulesAre(stage, 'one 9'),
  }),
  steering('schedule-remove', {
    async prepare(stage) {
      await stage.producer().registerTypes([stage.work])
      for (const name of ['one', 'two']) await create(name, stage.producer())
    },
    act: (_, holdfast) => holdfast.schedules.remove('one', who).catch(unless('not_found')),
    done: (stage) => schedulesAre(stage, 'two 5'),
  }),
  steering('schedule-prune', {
    async prepare(stage) {
      await stage.producer().registerTypes([stage.work])
      await define(stage, yearly('one'), yearly('two'))
      await define(stage, yearly('two'))
    },
    act: (_, holdfast) => holdfast.schedules.prune(who),
    done: (stage) => schedulesAre(stage, 'two 5'),
  }),
  {
    name: 'expire',
    watch: () => callOf('tick'),
    async prepare(stage) {
      await stage.enqueue((requests) => stage.producer().enqueueMany(requests), [{ ends: 'dead', options: { expireIn: 100 } }])
      await stage.until(
        async () => (await stage.sql('select from holdfast.start_deadlines where start_by > holdfast.now()')).length === 0,
      )
    },
    perform: (stage, url) => stage.worker(url),
  },
]
