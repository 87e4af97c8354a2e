// npm run example workflow-tasks: eight workers run workflows with branches and a join; half of them are killed on the way.
import pg from 'pg'
import { until } from '../support/stage.mjs'
import { pipeline, tables } from './pipeline.mjs'

const program = (name) => new URL(name, import.meta.url)

/** The median of the time from enqueue to start, in milliseconds, by each way that a worker hears of a job. */
export async function measureLatency(stage, samples) {
  const redis = await stage.start(program('redis.mjs'))
  const measure = async (by) =>
    Number((await stage.start(program('latency.mjs'), { BY: by, SAMPLES: samples, REDIS: redis.ready })).ready)
  const latency = { notify: await measure('notify'), poll: await measure('poll') }
  if (redis.ready !== 'absent') latency.redis = await measure('redis')
  await redis.stop()
  return latency
}

export async function play(
  stage,
  {
    executions = Number(process.env.EXECUTIONS ?? 100),
    taskMs = 20,
    lease = '2s',
    samples = Number(process.env.SAMPLES ?? 20),
    tasks = Number(process.env.TASKS ?? 1_000),
  } = {},
) {
  const { say, holdfast } = stage
  const pool = new pg.Pool({ connectionString: stage.connectionString })
  stage.onEnd(() => pool.end())
  const ask = async (sql) => (await pool.query(sql)).rows
  await pool.query(tables)

  const latency = await measureLatency(stage, samples)
  const byRedis = latency.redis ? `${latency.redis.toFixed(1)} ms by a Redis` : 'no redis-server is installed to measure it by'
  say(
    `From enqueue to start, p50: ${latency.notify.toFixed(1)} ms by NOTIFY, ${byRedis}, ${latency.poll.toFixed(1)} ms by polling every second.`,
  )
  const sizes = []
  for (const size of [1, 5, 20])
    sizes.push(JSON.parse((await stage.start(program('batch-size.mjs'), { BATCH_SIZE: size, TASKS: tasks })).ready))
  say(`\n${tasks} tasks of 5 ms on one worker, by how many it takes at once:`)
  for (const { size, perSecond, claims } of sizes) say(`  ${`${size}`.padStart(2)}: ${perSecond} tasks/s, with ${claims} claims`)
  say('')

  const start = (env) => stage.start(program('workers.mjs'), { TASK_MS: taskMs, LEASE: lease, ...env })
  const doomed = await start({})
  const steady = await start({})
  say(`${executions} executions of fetch → (parse, translate) → publish, on eight workers in two processes.`)
  for (let number = 1; number <= executions; number++) await holdfast.start(pipeline, { number, words: number * 40 })
  const ran = async () => (await ask('select from task_run')).length > executions
  const held = `select from holdfast.jobs as j join holdfast.workers as w on w.id = j.worker_id
                where j.status = 'processing' and w.pid = ${doomed.pid}`
  await until(async () => (await ran()) && (await ask(held)).length > 2, { every: 10 })
  await doomed.stop('SIGKILL')
  say('Half of the workers were killed. Their tasks are reclaimed when the leases have run out.')

  const open = "select from holdfast.executions where status = 'running'"
  await until(async () => (await ask(open)).length === 0, { within: 120_000 })
  const before = await ask('select status, count(*)::int from holdfast.executions group by status order by status')
  const [{ rescued }] = await ask("select count(*)::int as rescued from holdfast.attempts where outcome = 'lease_expired'")
  const letters = (await holdfast.deadLetters.list({})).letters
  say(`${rescued} attempts had ended with their worker.`)
  say(`\nselect status, count(*) from holdfast.executions group by status;`)
  for (const { status, count } of before) say(`  ${status.padEnd(10)} ${count}`)
  for (const { type, error } of letters) say(`  dead letter: ${type}, ${error.message}`)

  say('\nThe press is repaired, and the dead letter is replayed: its execution carries on.')
  await steady.stop()
  await start({ REPAIRED: 'yes' })
  for (const { id } of letters) await holdfast.deadLetters.replay(id, { by: 'ada', why: 'the press was repaired' })
  await until(async () => (await ask("select from holdfast.executions where status <> 'completed'")).length === 0)
  const after = await ask('select status, count(*)::int from holdfast.executions group by status order by status')
  for (const { status, count } of after) say(`  ${status.padEnd(10)} ${count}`)
  return { latency, sizes, rescued, before, letters, after, ask }
}
