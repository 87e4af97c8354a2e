// npm run example workflow-tasks: eight workers run workflows with branches and a join; half of them are killed on the way.
import pg from 'pg'
import { until } from '../support/stage.mjs'
import { pipeline, tables } from './pipeline.mjs'

const program = (name) => new URL(name, import.meta.url)

export async function play(stage, { executions = 100, taskMs = 20, lease = '2s', samples = 50 } = {}) {
  const { say, holdfast } = stage
  const pool = new pg.Pool({ connectionString: stage.connectionString })
  stage.onEnd(() => pool.end())
  const ask = async (sql) => (await pool.query(sql)).rows
  await pool.query(tables)

  const latency = {}
  for (const by of ['notify', 'poll'])
    latency[by] = Number((await stage.start(program('latency.mjs'), { BY: by, SAMPLES: samples })).ready)
  say(
    `From enqueue to start, p50: ${latency.notify.toFixed(1)} ms by NOTIFY, ${latency.poll.toFixed(1)} ms by polling every 100 ms.\n`,
  )

  const start = (env) => stage.start(program('workers.mjs'), { TASK_MS: taskMs, LEASE: lease, ...env })
  const doomed = await start({})
  const steady = await start({})
  say(`${executions} executions of fetch → (parse, translate) → publish, on eight workers in two processes.`)
  for (let number = 1; number <= executions; number++) await holdfast.start(pipeline, { number, words: number * 40 })
  await until(async () => (await ask('select from task_run')).length > executions)
  await doomed.stop('SIGKILL')
  say('Half of the workers were killed. Their tasks are reclaimed when the leases have run out.')

  const open = "select from holdfast.executions where status = 'running'"
  await until(async () => (await ask(open)).length === 0, { within: 120_000 })
  const before = await ask('select status, count(*)::int from holdfast.executions group by status order by status')
  const letters = (await holdfast.deadLetters.list({})).letters
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
  return { latency, before, letters, after, ask }
}
