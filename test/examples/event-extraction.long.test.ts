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
  const { answers, again, refused, byStatus, failed, one } = await examples.play(stage, {
    documents: 20,
    speed,
    lease: '2s',
    extractionMs: 150,
  })

  expect(new Set(answers.map(({ status }: { status: number }) => status))).toEqual(new Set([202]))
  expect(again).toMatchObject({ status: 200, job: answers[0].job })
  expect(refused.status).toBe(400)
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
}, 300_000)
