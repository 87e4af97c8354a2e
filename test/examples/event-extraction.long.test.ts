import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

// biome-ignore lint/suspicious/noExplicitAny: examples are JavaScript
let examples: { setStage: any; play: any }
beforeAll(async () => {
  const { setStage } = await import(join(repository, 'examples/support/stage.mjs'))
  const { play } = await import(join(repository, 'examples/event-extraction/main.mjs'))
  examples = { setStage, play }
})

test('event extraction answers at once, keeps every document through a killed worker, and shows what failed', async () => {
  const stage = await examples.setStage({ databaseUrl: process.env.HOLDFAST_TEST_URL, say: () => {} })
  onTestFinished(stage.end)
  const speed = 300
  const extractionMs = 1_500
  const { answers, again, refused, byStatus, failed, lost, ingest, one } = await examples.play(stage, {
    documents: 20,
    speed,
    lease: '4s',
    extractionMs,
  })

  expect(new Set(answers.map(({ status }: { status: number }) => status))).toEqual(new Set([202]))
  // The document's two figures: an answer takes less than a second, and an extraction takes seconds.
  expect(Math.max(...answers.map(({ ms }: { ms: number }) => ms))).toBeLessThan(1_000)
  const [quickest] = await one(
    "select min(extract(epoch from ended_at - started_at))::float * 1000 as ms from holdfast.attempts where outcome = 'completed'",
  )
  expect(quickest.ms).toBeGreaterThan(extractionMs * 0.95)
  expect(again.status).toBe(200)
  expect(refused.map(({ status }: { status: number }) => status)).toEqual([400, 422])
  // Nothing of what was refused is left: neither a revision nor a job.
  const jobs = async () => (await one('select from holdfast.jobs')).length
  expect([await jobs(), (await one('select from artifact_revision')).length]).toEqual([20, 20])
  const other = ({ worker_id, next_worker_id }: Record<string, number>) => worker_id !== next_worker_id
  expect(lost.filter(other)).not.toEqual([])
  const ended = Object.fromEntries(byStatus.map(({ status, count }: { status: string; count: number }) => [status, count]))
  expect(ended.completed + ended.dead).toBe(20)

  const unreadable = failed.find(({ artifact }: { artifact: string }) => artifact === 'doc-20')
  expect(unreadable).toMatchObject({ attempt: 5, error: { message: expect.stringMatching(/answered 4(22|29)|lost/) } })
  const waits = await one(
    `select a.attempt, extract(epoch from n.started_at - a.ended_at)::float as seconds
     from holdfast.attempts as a join holdfast.attempts as n on n.job_id = a.job_id and n.attempt = a.attempt + 1
     where a.job_id = $1 and a.outcome = 'failed'`,
    [unreadable.id],
  )
  expect(waits).not.toEqual([])
  for (const { attempt, seconds } of waits) expect(seconds).toBeGreaterThan((Math.min(30 * 2 ** attempt, 600) / speed) * 0.95)

  const events = await one('select artifact, count(*)::int from event group by artifact')
  expect(events).toHaveLength(ended.completed)
  expect(new Set(events.map(({ count }: { count: number }) => count))).toEqual(new Set([2]))

  // Nine days later the completed job is forgotten, and with it whatever keys it had. The revision still is the same one.
  await one(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
             as 'select pg_catalog.clock_timestamp() + interval ''9 days'''`)
  await one('select holdfast.make_partition(family, day) from holdfast.missing_partitions()')
  const [{ id: done }] = await one("select id from holdfast.jobs where status = 'completed' and payload->>'artifact' = 'doc-1'")
  const forgotten = async () => {
    await one("select holdfast.drop_oldest_partition(interval '7 days', interval '30 days')")
    await one("select holdfast.sweep_rest(interval '7 days', interval '30 days')")
    const rows = await one('select from holdfast.jobs where id = $1', [done])
    return rows.length + (await one('select from holdfast.idempotency_keys where job_id = $1', [done])).length === 0
  }
  await expect.poll(forgotten, { timeout: 30_000 }).toBe(true)
  const left = await jobs()
  expect(await ingest('doc-1', 'another text')).toMatchObject({ status: 200 })
  expect(await jobs()).toBe(left)
}, 300_000)
