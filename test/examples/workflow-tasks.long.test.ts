import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { whenInstalled } from '../support/programs.js'
import { repository } from '../support/source.js'

test('workflows end with each task run once, although half of eight workers are killed and one task has to be replayed', async () => {
  const { setStage } = await import(join(repository, 'examples/support/stage.mjs'))
  const { play } = await import(join(repository, 'examples/workflow-tasks/main.mjs'))
  const stage = await setStage({ databaseUrl: process.env.HOLDFAST_TEST_URL, say: () => {} })
  onTestFinished(stage.end)
  const sizes = { executions: 20, samples: 5, tasks: 200, taskMs: 30 }
  const { latency, sizes: bySize, rescued, before, letters, after, ask } = await play(stage, sizes)

  // Which is the soonest, and which size is the quickest with how many claims, depends on the machine: the bench has these.
  expect(latency).toMatchObject({ notify: expect.any(Number), poll: expect.any(Number) })
  expect(bySize).toEqual([1, 5, 20].map((size) => ({ size, perSecond: expect.any(Number), claims: expect.any(Number) })))
  expect(rescued).toBeGreaterThan(0)
  const overlaps = `select from holdfast.attempts as a join holdfast.attempts as b on b.job_id = a.job_id and b.attempt > a.attempt
                    where b.started_at < a.ended_at`
  expect(await ask(overlaps)).toEqual([])
  expect(before).toEqual([
    { status: 'completed', count: 19 },
    { status: 'failed', count: 1 },
  ])
  expect(letters).toMatchObject([{ type: 'pipeline.publish', error: { message: 'the press is broken' } }])
  expect(after).toEqual([{ status: 'completed', count: 20 }])
  const ran = await ask('select task, count(*)::int from task_run group by task order by task')
  const count = 20
  // Eight of the texts are long, and only those are translated.
  expect(ran).toEqual([
    { task: 'fetch', count },
    { task: 'parse', count },
    { task: 'publish', count },
    { task: 'translate', count: 8 },
  ])
}, 300_000)

whenInstalled(
  'redis-server',
  'how soon an idle worker starts a task is measured by NOTIFY, by a Redis and by polling',
  async () => {
    const { setStage } = await import(join(repository, 'examples/support/stage.mjs'))
    const { measureLatency } = await import(join(repository, 'examples/workflow-tasks/main.mjs'))
    const stage = await setStage({ databaseUrl: process.env.HOLDFAST_TEST_URL, say: () => {} })
    onTestFinished(stage.end)
    const latency = await measureLatency(stage, 5)
    // Which is the soonest depends on the machine; that a Redis wakes workers is proved in test/journeys/wake-ups.
    expect(latency).toEqual({ notify: expect.any(Number), poll: expect.any(Number), redis: expect.any(Number) })
    for (const ms of Object.values(latency)) expect(ms).toBeGreaterThan(0)
  },
  120_000,
)
