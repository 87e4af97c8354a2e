import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

test('workflows end with each task run once, although half of eight workers are killed and one task has to be replayed', async () => {
  const { setStage } = await import(join(repository, 'examples/support/stage.mjs'))
  const { play } = await import(join(repository, 'examples/workflow-tasks/main.mjs'))
  const stage = await setStage({ databaseUrl: process.env.HOLDFAST_TEST_URL, say: () => {} })
  onTestFinished(stage.end)
  const { latency, before, letters, after, ask } = await play(stage, { executions: 20, samples: 3, taskMs: 30 })

  expect(latency).toEqual({ notify: expect.any(Number), poll: expect.any(Number) })
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
