// npm run example event-extraction: documents are ingested at once and extracted later, while a worker is killed.
import { performance } from 'node:perf_hooks'
import pg from 'pg'
import { until } from '../support/stage.mjs'
import { tables } from './extraction.mjs'

const program = (name) => new URL(name, import.meta.url)

export async function play(
  stage,
  {
    documents = Number(process.env.DOCUMENTS ?? 40),
    speed = Number(process.env.SPEED ?? 60),
    lease = '1s',
    extractionMs = Number(process.env.EXTRACTION_MS ?? 2_000),
  } = {},
) {
  const { say } = stage
  const pool = new pg.Pool({ connectionString: stage.connectionString })
  stage.onEnd(() => pool.end())
  await pool.query(tables)

  const extractor = await stage.start(program('extractor.mjs'), { EXTRACTION_MS: extractionMs })
  const env = { SPEED: speed, LEASE: lease, EXTRACTOR_URL: extractor.ready }
  const server = await stage.start(program('server.mjs'), env)
  const workers = [await stage.start(program('worker.mjs'), env), await stage.start(program('worker.mjs'), env)]
  const ingest = async (artifact, text) => {
    const began = performance.now()
    const answer = await fetch(`${server.ready}/artifacts/${artifact}/revisions/1`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
    })
    return { status: answer.status, ms: performance.now() - began, ...(await answer.json()) }
  }

  say(
    `Ingesting ${documents} documents. The extractor takes ${extractionMs / 1000} s for each, and answers every seventh request with 429.`,
  )
  const answers = []
  for (let n = 1; n <= documents; n++)
    answers.push(await ingest(`doc-${n}`, `Document ${n} opens. It closes. ${n % 20 === 0 ? 'unreadable' : ''}`))
  const again = await ingest('doc-1', 'another text')
  const refused = [await ingest('doc-without-text', null), await ingest(`doc-${'with-a-long-name-'.repeat(5)}`, 'It opens.')]
  const slowest = Math.max(...answers.map((answer) => answer.ms))
  say(
    `All are stored; the slowest answer took ${slowest.toFixed(0)} ms. The first one again: ${again.status}, and no second job.`,
  )
  say(`One without a text was refused with ${refused[0].status}. Another one was stored and then refused by the job's type:`)
  say('the revision was rolled back with the job.')

  const one = async (sql, values) => (await pool.query(sql, values)).rows
  await until(async () => (await one("select from holdfast.jobs where status = 'completed'")).length >= 3)
  // A worker takes five at a time, so that with six both have some.
  await until(async () => (await one("select from holdfast.jobs where status = 'processing'")).length > 5)
  await workers[0].stop('SIGKILL')
  say('\nOne of two workers was killed with jobs in its hands. The other one takes them when their leases have run out.')

  await until(async () => (await one("select from holdfast.jobs where status not in ('completed', 'dead')")).length === 0, {
    within: 300_000,
  })
  const byStatus = await one('select status, count(*)::int from holdfast.jobs group by status order by status')
  const failed = await one(
    "select id, payload->>'artifact' as artifact, attempt, error from holdfast.jobs where status = 'dead' order by 2",
  )
  say('\nselect status, count(*) from holdfast.jobs group by status;')
  for (const { status, count } of byStatus) say(`  ${status.padEnd(10)} ${count}`)
  say("select * from holdfast.jobs where status = 'dead';")
  for (const { artifact, attempt, error } of failed) say(`  ${artifact}: ${attempt} attempts, ${error.message}`)
  const lost = await one(
    `select a.attempt, a.worker_id, n.worker_id as next_worker_id from holdfast.attempts as a
     join holdfast.attempts as n on n.job_id = a.job_id and n.attempt = a.attempt + 1 where a.outcome = 'lease_expired'`,
  )
  say(`The kill cost ${lost.length} jobs one of their five attempts; the next one began when the lease had run out.`)
  return { answers, again, refused, byStatus, failed, lost, ingest, one }
}
