// The jobs: a schedule plans the next days, each forecast is fetched, each score is computed from what was fetched, and old rows go.
import { defineSchedule, defineType, Holdfast } from 'holdfast'
import { z } from 'zod'
import { burningSky, sunTimes } from './sun.mjs'

export const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })

const place = z.object({ lat: z.number(), lon: z.number(), date: z.string() })
const retries = { maxAttempts: 20, backoff: { base: process.env.BACKOFF ?? '30s', factor: 1.5, cap: '10m' } }

/** A key that says what the job is about: whoever asks for the same once more gets the job that is there. */
const keyed = (what, { lat, lon, date }) => ({
  unique: {
    key: `${what}:${lat},${lon}:${date}`,
    onConflict: 'existing',
    states: ['scheduled', 'pending', 'failed', 'processing', 'completed'],
  },
})

/** Asks for the forecast of every place for today and the days after. */
export const planDays = defineType({
  type: 'plan_days',
  payload: z.object({ days: z.number() }),
  run: ({ days }, ctx) =>
    ctx.completeWith(async (tx) => {
      const wanted = await tx.query(`
        select p.lat, p.lon, to_char(current_date + d, 'YYYY-MM-DD') as date from place as p, generate_series(0, ${days - 1}) as d`)
      const jobs = wanted.rows.map((of) => ({ type: fetchForecast, payload: of, ...keyed('forecast', of) }))
      const answers = await holdfast.enqueueMany(jobs, { tx })
      return { planned: answers.filter((answer) => answer.status === 'created').length }
    }),
})

/** Fetches a forecast, stores it, and asks for the score: all of that in one commit, so that no forecast stays without a score. */
export const fetchForecast = defineType({
  type: 'fetch_forecast',
  payload: place,
  ...retries,
  async run({ lat, lon, date }, ctx) {
    const answer = await fetch(`${process.env.WEATHER_URL}/?${new URLSearchParams({ lat, lon, date })}`, { signal: ctx.signal })
    if (!answer.ok) throw new Error(`the weather service answered ${answer.status}`)
    const forecast = await answer.json()
    return ctx.completeWith(async (tx) => {
      await tx.query(
        `insert into forecast (lat, lon, date, forecast) values ($1, $2, $3, $4)
         on conflict (lat, lon, date) do update set forecast = excluded.forecast`,
        [lat, lon, date, forecast],
      )
      await holdfast.enqueue(computeScore, { lat, lon, date }, { tx, ...keyed('score', { lat, lon, date }) })
    })
  },
})

/** Computes the score of an evening. It can run twice: the second time writes the same row again. */
export const computeScore = defineType({
  type: 'compute_score',
  payload: place,
  ...retries,
  run: ({ lat, lon, date }, ctx) =>
    ctx.completeWith(async (tx) => {
      const { rows } = await tx.query('select forecast from forecast where lat = $1 and lon = $2 and date = $3', [lat, lon, date])
      const { sunrise, sunset } = sunTimes(lat, lon, date) ?? {}
      await tx.query(
        `insert into score (lat, lon, date, sunrise, sunset, score) values ($1, $2, $3, $4, $5, $6)
         on conflict (lat, lon, date) do update set sunrise = excluded.sunrise, sunset = excluded.sunset, score = excluded.score`,
        [lat, lon, date, sunrise, sunset, burningSky(rows[0].forecast)],
      )
    }),
})

/** Rows of days that are over. What is kept of the jobs themselves is the worker's business: its option `retention`. */
export const cleanUp = defineType({
  type: 'clean_up',
  run: (_, ctx) =>
    ctx.completeWith(async (tx) => {
      const { rowCount } = await tx.query('delete from score where date < current_date - 30')
      await tx.query('delete from forecast where date < current_date - 30')
      return { removed: rowCount }
    }),
})

export const types = [planDays, fetchForecast, computeScore, cleanUp]
const every = process.env.EVERY ?? '1h'
export const schedules = [
  defineSchedule({ name: 'plan-days', type: planDays, payload: { days: 3 }, every }),
  defineSchedule({ name: 'clean-up', type: cleanUp, payload: {}, every }),
]
