import { afterEach, expect, test, vi } from 'vitest'
import { clearUp, emptyDirectory, RunningHoldfast } from '../support/holdfast-program.js'

const patient = { timeout: 150_000, interval: 200 }

let directory: string
afterEach(async () => clearUp(directory))

test('every demo type comes to the end it is there to show, and every page has something in it', {
  timeout: 400_000,
}, async () => {
  directory = await emptyDirectory()
  const holdfast = await RunningHoldfast.start(directory)
  const ends: Record<string, (story: Story) => boolean> = {
    demo_email: ({ status, attempts }) => status === 'completed' && attempts.length === 1,
    demo_export: ({ status, attempts }) => status === 'completed' && attempts.length === 1,
    demo_flaky: ({ status, attempts }) => status === 'completed' && attempts.length > 1 && attempts[0]?.outcome === 'failed',
    demo_poison: ({ status, attempts }) => status === 'dead' && attempts.length === 2,
    demo_report: ({ status, attempts }) => status === 'completed' && longerThan(40_000, attempts[0]),
  }
  // The first of each type comes within seconds; where it comes to its end is seen in its story.
  const first = await vi.waitFor(async () => {
    const seen = await Promise.all(Object.keys(ends).map(async (type) => (await jobs(`type=${type}&limit=100`)).at(-1)?.id))
    expect(seen).not.toContain(undefined)
    return seen as string[]
  }, patient)

  // The second of four exports, while the first runs.
  await vi.waitFor(async () => {
    const [waits] = await jobs('type=demo_export&status=pending')
    expect((await holdfast.json(`/jobs/${waits?.id}/explain`)).gates[0].why).toContain(
      '1 of at most 1 jobs of demo_export are running',
    )
  }, patient)
  await vi.waitFor(async () => {
    expect(await jobs('status=awaiting_approval')).toMatchObject([{ type: 'demo_refund' }])
    expect(await jobs('status=scheduled')).not.toEqual([])
    const { actions } = await holdfast.json('/bulk')
    expect(actions).toMatchObject([{ action: 'cancel', status: 'completed', done: 40 }])
    expect((await holdfast.json('/executions?status=completed')).executions).not.toEqual([])
    expect((await holdfast.json('/batches?status=succeeded')).batches).not.toEqual([])
    expect((await holdfast.json('/errors')).groups.length).toBeGreaterThan(1)
    expect((await holdfast.json('/admin/schedules/demo-every-minute')).ticks).not.toEqual([])
    expect((await holdfast.json('/admin/audit')).lines).not.toEqual([])
    expect((await holdfast.json('/admin/alerts')).firing).not.toEqual([])
  }, patient)
  // The payment provider fails after half a minute, and comes back after another.
  for (const open of [true, false]) await vi.waitFor(async () => expect(await breakerIsOpen()).toBe(open), patient)
  await vi.waitFor(async () => {
    const stories: Story[] = await Promise.all(first.map((id) => holdfast.json(`/jobs/${id}`)))
    expect(stories.map((story) => `${story.type} ${ends[story.type]?.(story)}`)).toEqual(
      Object.keys(ends).map((type) => `${type} true`),
    )
  }, patient)
  expect((await holdfast.json('/status')).worker).toMatchObject({ status: 'ok', reason: null })
  expect(await holdfast.end('SIGTERM')).toBe(0)

  async function jobs(query: string): Promise<Story[]> {
    return (await holdfast.json(`/jobs?${query}`)).jobs
  }

  async function breakerIsOpen(): Promise<boolean> {
    const { types } = await holdfast.json('/admin/job-types')
    return types.find(({ type }: { type: string }) => type === 'demo_payment').gate.breaker.open
  }
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
