// What every story starts with: the world outside, the signup, a worker, and questions to ask of all three.

import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { until } from '../support/stage.mjs'

const program = (name) => new URL(name, import.meta.url)

export async function makeWorld(stage, { backoff = '500ms', probe = '1s', ratePer = process.env.RATE_PER ?? '1s' } = {}) {
  const pool = new pg.Pool({ connectionString: stage.connectionString })
  stage.onEnd(() => pool.end())
  await pool.query('create table account (id int generated always as identity primary key, email text not null)')
  const outside = await stage.start(program('outside.mjs'))
  const [smtpPort, outsideUrl] = outside.ready.split(' ')
  const objects = join(tmpdir(), `signup-${process.pid}`)
  stage.onEnd(() => rm(objects, { recursive: true, force: true }))
  const env = {
    SMTP_PORT: smtpPort,
    OUTSIDE_URL: outsideUrl,
    OBJECT_STORE: objects,
    BACKOFF: backoff,
    PROBE: probe,
    RATE_PER: ratePer,
    CRM_TIMEOUT: '3s',
    HOLDFAST_BUILD: '1.0',
  }
  const server = await stage.start(program('server.mjs'), env)
  const startWorker = (more = {}) => stage.start(program('worker.mjs'), { ...env, ...more })
  const worker = await startWorker()

  const ask = async (sql, values) => (await pool.query(sql, values)).rows
  const send = async (url, body) =>
    (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json()
  return {
    holdfast: stage.holdfast,
    say: stage.say,
    ask,
    until,
    worker,
    startWorker,
    onEnd: stage.onEnd,
    connectionString: stage.connectionString,
    mood: (change) => send(`${outsideUrl}/mood`, change),
    seen: async () => (await fetch(`${outsideUrl}/seen`)).json(),
    /** Signs up that many people, one after the other; answers with the jobs of each, and with how long that took. */
    async signUp(count, image = 'a portrait') {
      const answers = []
      for (let n = 0; n < count; n++) {
        const began = performance.now()
        const answer = await send(`${server.ready}/signup`, { email: `user-${n}@example.com`, image })
        answers.push({ ...answer, ms: performance.now() - began })
      }
      return answers
    },
    /** How many jobs of a type there are, by status. */
    async countsOf(type) {
      const rows = await ask('select status, count(*)::int from holdfast.jobs where type = $1 group by status', [type])
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
    },
    /** Waits until no job of these types is left to run. */
    async allEnded(...types) {
      const open = "select from holdfast.jobs where type = any ($1) and status not in ('completed', 'dead', 'cancelled') limit 1"
      await until(async () => (await ask(open, [types])).length === 0, { within: 200_000 })
    },
  }
}
