import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

test('sunset scores are there for every place and day, once each, although the weather service comes and goes', async () => {
  const { setStage } = await import(join(repository, 'examples/support/stage.mjs'))
  const { play } = await import(join(repository, 'examples/sunset-scores/main.mjs'))
  const stage = await setStage({ databaseUrl: process.env.HOLDFAST_TEST_URL, say: () => {} })
  onTestFinished(stage.end)
  const { berlin, jobs, attempts, before, after, ask } = await play(stage, { every: '1s', backoff: '50ms' })

  const kept = (row: { date: Date }) => row.date.getTime() > Date.now() - 30 * 86_400_000
  expect(after.filter(kept)).toEqual(expect.arrayContaining(before.filter(kept)))
  // Two, where midnight has just passed.
  expect(berlin.length).toBeGreaterThanOrEqual(2)
  for (const { sunrise, sunset } of berlin) expect(Date.parse(sunset)).toBeGreaterThan(Date.parse(sunrise))
  expect(await ask('select from score where date < current_date - 30')).toEqual([])

  const made = await ask(
    "select payload->>'lat' as lat, payload->>'date' as date, count(*)::int from holdfast.jobs where type in ('fetch_forecast', 'compute_score') group by type, 1, 2",
  )
  expect(new Set(made.map(({ count }: { count: number }) => count))).toEqual(new Set([1]))
  expect(jobs.filter(({ status }: { status: string }) => status === 'dead')).toEqual([])
  expect(attempts).toContainEqual({ type: 'fetch_forecast', outcome: 'failed', count: expect.any(Number) })
}, 300_000)
