import { expect, test } from 'vitest'
import type { ClaimedJob } from '../job/claimed.js'
import type { Outcome } from '../job/outcome.js'
import { defineType } from '../job/type.js'
import type { AttemptServices } from './services.js'
import { Slots } from './slots.js'
import { Strands } from './strands.js'

const ended: { job: string; outcome: Outcome['kind'] }[] = []
const running: string[] = []
const open = new Map<string, () => void>()
const type = defineType({
  type: 'keyed',
  run(payload) {
    const id = payload as string
    running.push(id)
    return new Promise<void>((resolve) => {
      open.set(id, () => {
        running.splice(running.indexOf(id), 1)
        resolve()
      })
    })
  },
})

const claimed = (id: string, key: string, most = 1, lease = '1'): ClaimedJob => ({
  ...{ id, lease, type, lane: 1, priority: 5, attempt: 1, maxAttempts: 5, createdAtMs: 0, payload: JSON.stringify(id) },
  ...{ claimedAtMs: performance.now(), strand: { key, most } },
})

function slotsWith(strands: Strands): Slots {
  ended.length = 0
  running.length = 0
  open.clear()
  return new Slots(
    { concurrency: 10 },
    {} as AttemptServices,
    {
      ended: (job, { kind }) => void ended.push({ job: job.id, outcome: kind }),
      overran: () => {},
      began: () => {},
      overrunning: () => {},
      escaped: () => {},
      slotFree: () => {},
    },
    strands,
  )
}

async function end(id: string): Promise<void> {
  open.get(id)?.()
  await expect.poll(() => ended.some(({ job }) => job === id)).toBe(true)
}

test('jobs of one key run one after the other in their order, as many at once as its limit says, and other keys do not wait', async () => {
  const slots = slotsWith(new Strands())
  slots.add([
    claimed('a1', 'a'),
    claimed('a2', 'a'),
    claimed('b1', 'b', 2),
    claimed('b2', 'b', 2),
    claimed('b3', 'b', 2),
    claimed('a3', 'a'),
  ])
  expect(running).toEqual(['a1', 'b1', 'b2'])
  expect(slots.waiting).toBe(3)
  await end('a1')
  expect(running).toEqual(['b1', 'b2', 'a2'])
  await end('b2')
  expect(running).toEqual(['b1', 'a2', 'b3'])
  await end('a2')
  await end('a3')
  expect(running).toEqual(['b1', 'b3'])
  expect(slots.waiting).toBe(0)
})

test('jobs of one key that run in different places of a worker do not overlap either', async () => {
  const strands = new Strands()
  const [one, other] = [slotsWith(strands), slotsWith(strands)]
  one.add([claimed('a1', 'a')])
  other.add([claimed('a2', 'a')])
  expect(running).toEqual(['a1'])
  await end('a1')
  expect(running).toEqual(['a2'])
})

test('what waits for its key is handed back, cancelled or lost with its lease like anything else, and the key goes on', async () => {
  const slots = slotsWith(new Strands())
  slots.add([claimed('a1', 'a'), claimed('a2', 'a'), claimed('a3', 'a', 1, '2'), claimed('a4', 'a'), claimed('a5', 'a')])
  slots.cancel(new Set(['a2']))
  expect(slots.loseLeases(new Set(['2']))).toBe(1)
  expect(ended).toEqual([{ job: 'a2', outcome: 'handed_back' }])
  await end('a1')
  expect(running).toEqual(['a4'])
  slots.handBackWaiting()
  expect(ended.at(-1)).toEqual({ job: 'a5', outcome: 'handed_back' })
  await end('a4')
  slots.add([claimed('a6', 'a')])
  expect(running).toEqual(['a6'])
})

test('a key whose running job lost its lease is free for the next', () => {
  const slots = slotsWith(new Strands())
  slots.add([claimed('a1', 'a'), claimed('a2', 'a', 1, '2')])
  expect(slots.loseLeases(new Set(['1']))).toBe(1)
  expect(running).toEqual(['a1', 'a2'])
})
