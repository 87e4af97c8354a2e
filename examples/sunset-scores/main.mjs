// npm run example sunset-scores: two workers keep the scores of the next evenings ready, with a weather service that comes and goes.
import pg from 'pg'
import { until } from '../support/stage.mjs'
import { tables } from './tables.mjs'

const program = (name) => new URL(name, import.meta.url)

export async function play(stage, { every = process.env.EVERY ?? '2s', backoff = process.env.BACKOFF ?? '500ms' } = {}) {
  const { say } = stage
  const pool = new pg.Pool({ connectionString: stage.connectionString })
  stage.onEnd(() => pool.end())
  const ask = async (sql) => (await pool.query(sql)).rows
  await pool.query(tables)
  await pool.query('insert into score values (52.52, 13.4, current_date - 40, null, null, 77)')

  const weather = await stage.start(program('weather.mjs'))
  const api = await stage.start(program('api.mjs'))
  const env = { WEATHER_URL: weather.ready, EVERY: every, BACKOFF: backoff }
  const workers = [await stage.start(program('worker.mjs'), env), await stage.start(program('worker.mjs'), env)]
  say(
    `Two workers plan the next three days of four places every ${every}. The weather service answers five requests and misses five.`,
  )

  await until(async () => (await ask('select from score where date >= current_date')).length >= 12)
  const before = await ask('select lat, lon, date, score from score order by 1, 2, 3')
  const ticks = async () => (await ask("select from holdfast.jobs where type = 'plan_days' and status = 'completed'")).length
  const seen = await ticks()
  await until(async () => (await ticks()) >= seen + 2)
  await until(async () => (await ask('select from score where date < current_date - 30')).length === 0)
  for (const worker of workers) await worker.stop()

  const berlin = await (await fetch(`${api.ready}/scores/Berlin`)).json()
  say('\nGET /scores/Berlin, from rows that are there already:')
  for (const { date, sunset, score } of berlin)
    say(`  ${date}  sunset ${sunset.slice(11, 16)} UTC  ${'█'.repeat(Math.ceil(score / 5))} ${score}`)
  const jobs = await ask('select type, status, count(*)::int from holdfast.jobs group by 1, 2 order by 1, 2')
  say('\nEvery tick after the first planned what was planned already, and made no job:')
  for (const { type, status, count } of jobs) say(`  ${type.padEnd(15)} ${status.padEnd(10)} ${count}`)
  const attempts = await ask(`
    select j.type, a.outcome, count(*)::int from holdfast.attempts as a join holdfast.jobs as j on j.id = a.job_id
    where j.type = 'fetch_forecast' group by 1, 2 order by 2`)
  say('\nEvery attempt is on record:')
  for (const { outcome, count } of attempts) say(`  fetch_forecast  ${outcome.padEnd(10)} ${count}`)
  const after = await ask('select lat, lon, date, score from score order by 1, 2, 3')
  return { berlin, jobs, attempts, before, after, ask }
}
