import { expect, test } from 'vitest'
import type { Background } from './background.js'
import { BackgroundGroup, type Member } from './group.js'

/** Parts that write down what is done to them, and a monitor that writes down what it is told. */
function bench() {
  const done: string[] = []
  const failed: string[] = []
  const member = (name: string, over: Partial<Background> = {}, stopWithinMs = 60_000): Member => ({
    part: {
      name,
      start: () => void done.push(`start ${name}`),
      stop: async () => void done.push(`stop ${name}`),
      ...over,
    },
    stopWithinMs,
  })
  const group = (...stages: Member[][]) =>
    new BackgroundGroup(stages, { gaveUp: (what, error) => void failed.push(`${what}: ${(error as Error).message}`) })
  return { done, failed, member, group }
}

const never = () => new Promise<void>(() => {})

test('parts start in their order and stop in the reverse one, those of a stage together', async () => {
  const { done, failed, member, group } = bench()
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const slow = member('slow', { stop: () => held.then(() => void done.push('stop slow')) })
  const parts = group([member('guard')], [member('settler')], [slow, member('upkeep')])
  parts.start()
  parts.start()
  expect(done).toEqual(['start guard', 'start settler', 'start slow', 'start upkeep'])
  done.length = 0
  const stopped = parts.stop()
  await expect.poll(() => done).toEqual(['stop upkeep'])
  letGo()
  await stopped
  expect(done).toEqual(['stop upkeep', 'stop slow', 'stop settler', 'stop guard'])
  expect(failed).toEqual([])
})

test('a part that cannot start is named, its error is thrown as it was, and only the parts that began are stopped', async () => {
  const { done, failed, member, group } = bench()
  const problem = new Error('no thread')
  const broken = member('heartbeat', {
    start() {
      throw problem
    },
  })
  const parts = group([member('guard')], [broken], [member('claim loop')])
  expect(() => parts.start()).toThrow(problem)
  expect(failed).toEqual(['heartbeat: no thread'])
  expect(parts.stopping).toBe(true)
  await parts.stop()
  expect(done).toEqual(['start guard', 'stop heartbeat', 'stop guard'])
})

test('a part that does not stop in time, and one whose stop fails, are named and left behind', async () => {
  const { done, failed, member, group } = bench()
  const hangs = member('hangs', { stop: never }, 10)
  const leaves = member('settler', { stop: () => Promise.reject(new Error('3 results are left')) })
  const throws = member('listener', {
    stop() {
      throw new Error('no such socket')
    },
  })
  const parts = group([member('guard')], [leaves, throws], [hangs])
  parts.start()
  await parts.stop()
  expect(failed).toEqual(['hangs: did not stop within 10 ms', 'listener: no such socket', 'settler: 3 results are left'])
  expect(done.at(-1)).toBe('stop guard')
})

test('a part that has the group stopped while it starts is stopped itself, and the parts after it never start', async () => {
  const { done, failed, member, group } = bench()
  let stopped: Promise<void> | undefined
  const impatient = member('impatient', {
    start() {
      stopped = parts.stop()
      done.push('start impatient')
    },
  })
  const parts = group([member('guard')], [impatient, member('beside')], [member('claim loop')])
  parts.start()
  await stopped
  expect(done).toEqual(['start guard', 'start impatient', 'stop impatient', 'stop guard'])
  expect(failed).toEqual([])
})

test('a group that is stopped twice stops once, and one that was stopped first never starts', async () => {
  const { done, member, group } = bench()
  const parts = group([member('guard')])
  parts.start()
  await Promise.all([parts.stop(), parts.stop()])
  await parts.stop()
  expect(done).toEqual(['start guard', 'stop guard'])
  const unused = group([member('unused')])
  await unused.stop()
  unused.start()
  expect(done).toEqual(['start guard', 'stop guard'])
})
