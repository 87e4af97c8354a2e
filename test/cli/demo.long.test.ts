import { afterEach, expect, test, vi } from 'vitest'
import { clearUp, emptyDirectory, RunningHoldfast } from '../support/holdfast-program.js'

const patient = { timeout: 120_000, interval: 100 }

let directory: string
afterEach(async () => clearUp(directory))

test('every demo type comes to the end it is there to show', { timeout: 270_000 }, async () => {
  directory = await emptyDirectory()
  const holdfast = await RunningHoldfast.start(directory)
  const ends: Record<string, (story: Story) => boolean> = {
    demo_email: ({ status, attempts }) => status === 'completed' && attempts.length === 1,
    demo_flaky: ({ status, attempts }) => status === 'completed' && attempts.length > 1 && attempts[0]?.outcome === 'failed',
    demo_poison: ({ status, attempts }) => status === 'dead' && attempts.length === 2,
    demo_report: ({ status, attempts }) => status === 'completed' && longerThan(40_000, attempts[0]),
  }
  // The first of each type comes within seconds; where it comes to its end is seen in its story.
  const first = await vi.waitFor(async () => {
    const { jobs } = await holdfast.json('/status')
    const seen = Object.keys(ends).map((type) => jobs.findLast((job: Story) => job.type === type)?.id)
    expect(seen).not.toContain(undefined)
    return seen as string[]
  }, patient)
  await vi.waitFor(async () => {
    const stories: Story[] = await Promise.all(first.map((id) => holdfast.json(`/jobs/${id}`)))
    expect(stories.map((story) => `${story.type} ${ends[story.type]?.(story)}`)).toEqual(
      Object.keys(ends).map((type) => `${type} true`),
    )
  }, patient)
  const { types, counts, worker } = await holdfast.json('/status')
  expect(types.map((one: { type: string }) => one.type)).toEqual([
    ...Object.keys(ends),
    'holdfast:alert',
    'holdfast:bulk',
    'holdfast:webhook',
  ])
  expect(counts.dead.count).toBeGreaterThan(0)
  expect(counts.completed.count).toBeGreaterThan(10)
  expect(worker).toMatchObject({ status: 'ok', reason: null })
  expect(await holdfast.end('SIGTERM')).toBe(0)
})

interface Story {
  id: string
  type: string
  status: string
  attempts: { outcome: string; started_at: string; ended_at: string }[]
}

function longerThan(ms: number, attempt: Story['attempts'][0] | undefined): boolean {
  return attempt !== undefined && Date.parse(attempt.ended_at) - Date.parse(attempt.started_at) > ms
}
