import { defineSchedule, defineType } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let queue: ScratchQueue
/** What ran, and when, in days since the beginning of the test. */
let diary: string[]
let began: number
beforeEach(async () => {
  queue = await scratchQueue()
  await queue.clock.set(new Date('2031-03-01T00:00:00Z'))
  began = Date.parse('2031-03-01T00:00:00Z')
  diary = []
})
afterEach(() => queue.close())

async function note(what: string): Promise<void> {
  diary.push(`${what} on day ${(((await queue.clock.now()).getTime() - began) / 86_400_000).toFixed(1)}`)
}

const report = defineType({ type: 'report', run: () => note('report') })
const daily = defineSchedule({ name: 'daily', type: report, payload: null, cron: '0 12 * * *', timeZone: 'UTC' })
const trial = defineType({
  type: 'trial',
  backoff: { base: '6h', cap: '6h', jitter: 0 },
  async run(_, ctx) {
    await ctx.sleep('1 day')
    if (ctx.job.attempt === 1) throw new Error('the bank is closed')
    await ctx.step('charge', () => note('charged'))
    const answer = await ctx.waitFor('answer', { timeout: '1 day' })
    await note(answer === undefined ? 'no answer' : 'answer')
  },
})

describe('time travel', () => {
  test('fires the schedules that are due, those that were missed by their policy', async () => {
    await queue.holdfast.registerTypes([report])
    await queue.holdfast.schedules.define([daily])
    expect((await queue.drain([report])).jobs).toEqual([])
    await queue.clock.set(new Date('2031-03-01T12:00:10Z'))
    expect((await queue.drain([report])).completed).toHaveLength(1)
    await queue.clock.advance('10 days')
    expect((await queue.drain([report])).completed).toHaveLength(1)
  })

  test('goes through schedules, retries, sleeps and the timeouts of signals, each at its own time', async () => {
    await queue.holdfast.registerTypes([report])
    await queue.holdfast.schedules.define([daily])
    await queue.holdfast.enqueue(trial, null)
    const { completed, left } = await queue.drain([report, trial], { throughTime: '3 days' })
    expect(diary).toEqual([
      'report on day 0.5',
      'charged on day 1.3',
      'report on day 1.5',
      'no answer on day 2.3',
      'report on day 2.5',
    ])
    expect(completed).toHaveLength(4)
    expect(left).toEqual([])
    const days = ((await queue.clock.now()).getTime() - began) / 86_400_000
    expect(days).toBeGreaterThanOrEqual(3)
    expect(days).toBeLessThan(3.01)
  })

  test('stops where it was told to, and says in the words of explain what each job waits for', async () => {
    const { id } = await queue.holdfast.enqueue(trial, null)
    await queue.holdfast.enqueue(report, null, { delay: '9d' })
    const { left } = await queue.drain([report, trial], { throughTime: '2d' })
    expect(diary).toEqual(['charged on day 1.3'])
    expect(left.map(({ type, gates: [first], why }) => [type, first?.gate, why])).toEqual([
      ['trial', 'signal', expect.stringMatching(/waits for the signal "?answer"?.*; it opens by /)],
      ['report', 'scheduled', expect.stringMatching(/; it opens by /)],
    ])
    await queue.holdfast.signal(id, 'answer', 'yes')
    await queue.drain([trial])
    expect(diary.at(-1)).toMatch(/^answer on day 2/)
  })

  test('of a schedule that ticks more often than the clock may be moved ends with an error that says so', async () => {
    await queue.holdfast.registerTypes([report])
    await queue.holdfast.schedules.define([defineSchedule({ name: 'often', type: report, payload: null, every: '1m' })])
    const drained = queue.drain([report], { throughTime: '1d', moves: 3 })
    await expect(drained).rejects.toThrow(/gives up after the clock was moved 3 times/)
  })
})
