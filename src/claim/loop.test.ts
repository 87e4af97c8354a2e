import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { TickRow } from '../store/duty-rows.js'
import type { Store } from '../store/store.js'
import { Lanes } from './lanes.js'
import { ClaimLoop } from './loop.js'

const lane = { id: 1, name: 'default', poll: 2_000, lease: null, slots: null, enabled: true, types: [1, 2] }
const found = (promoted: number): TickRow => ({
  ...{ promoted, readTo: null, nextInMs: null, duties: null, gateOpen: false, free: true, expired: null },
  lanes: [lane] as unknown as TickRow['lanes'],
})

const free = { types: [1], atOnce: 10, claimable: () => 10, inARow: () => 1 }
const full = { ...free, types: [2], claimable: () => 0 }

/** A loop whose looks at what is due and whose claims are answered as the test says. */
function loopOf(tick: (nth: number) => Promise<TickRow>, claim: (nth: number) => Promise<never[]>, groups = [free]) {
  const asked = { ticks: 0, claims: 0, subscribed: 0, unsubscribed: 0 }
  const store = {
    tick: () => tick(++asked.ticks),
    claim: () => claim(++asked.claims),
    subscribeIdle: async () => ({ news: ++asked.subscribed > 0, others: 0 }),
    unsubscribeIdle: async () => void asked.unsubscribed++,
  } as unknown as Store
  const lanes = new Lanes(store, groups, 60_000, () => {})
  const failures: string[] = []
  const monitor = {
    asking() {},
    answered() {},
    gaveUp() {},
    failed: (_: unknown, error: unknown) => void failures.push((error as Error).message),
  }
  const loop = new ClaimLoop(store, lanes, { worker: 1, pollMs: { notListening: 200, listening: 2_000 } }, monitor, {
    claimable: ({ group }) => group.claimable(),
    claimed: async () => {},
    claimTook() {},
    listening: () => true,
    expiredLeases() {},
    unacknowledged: async () => 0,
    looked() {},
    dutiesDone() {},
  })
  onTestFinished(() => loop.stop())
  loop.start()
  return { asked, loop, failures }
}

test('while more are due than are promoted at once, the next ones are promoted during the claims, and the loop ends after both', async () => {
  const ended: string[] = []
  let [promoteNext, isPromoting] = [() => {}, false]
  const nextMayEnd = new Promise<void>((resolve) => {
    promoteNext = resolve
  })
  const claimed = new Promise<void>((resolve) => {
    const { loop } = loopOf(
      async (nth) => {
        if (nth === 1) return found(1_000)
        isPromoting = true
        await nextMayEnd
        ended.push('promoted')
        return found(0)
      },
      async (nth) => {
        if (nth === 1) {
          // As long as the next look takes: it is under way already.
          while (!isPromoting) await pause(1)
          void loop.stop().then(() => ended.push('stopped'))
          resolve()
        }
        return []
      },
    )
  })
  await claimed
  await pause(20)
  expect(ended).toEqual([])
  promoteNext()
  while (ended.length < 2) await pause(1)
  expect(ended).toEqual(['promoted', 'stopped'])
})

test('where less is due than is promoted at once, nothing is promoted ahead', async () => {
  let isClaiming = false
  const { asked } = loopOf(
    async () => {
      expect(isClaiming).toBe(false)
      return found(1)
    },
    async () => {
      isClaiming = true
      await pause(5)
      isClaiming = false
      return []
    },
  )
  while (asked.ticks < 5) await pause(1)
})

test('a look ahead that fails is told, and the loop goes on', async () => {
  const { asked, failures } = loopOf(
    async (nth) => {
      if (nth === 2) throw Object.assign(new Error('the connection is gone'), { code: '08006' })
      return found(nth === 1 ? 1_000 : 0)
    },
    async () => [],
  )
  while (asked.ticks < 3) await pause(1)
  expect(failures).toEqual(['the connection is gone'])
})

test('a worker that is notified alone and has no slot for some of its types says at once that others are to be notified', async () => {
  const { asked, loop } = loopOf(
    async () => found(0),
    async () => [],
    [free, full],
  )
  while (asked.subscribed === 0) await pause(1)
  // A notification to all is not its own.
  const claims = asked.claims
  loop.notified()
  while (asked.claims === claims) await pause(1)
  expect(asked.unsubscribed).toBe(0)
  loop.notifiedAlone()
  while (asked.unsubscribed === 0) await pause(1)
})

test('a worker that is notified alone and has slots for all of its types does not', async () => {
  const { asked, loop } = loopOf(
    async () => found(0),
    async () => [],
  )
  while (asked.subscribed === 0) await pause(1)
  for (let n = 0; n < 3; n++) {
    const { claims } = asked
    loop.notifiedAlone()
    while (asked.claims === claims) await pause(1)
  }
  expect(asked.unsubscribed).toBe(0)
})

test('a busy worker whose looks at what is due take long looks less often, so that a fleet of them is not kept busy by its looks', async () => {
  const looksAt: number[] = []
  const tookMs = 25
  const { asked } = loopOf(
    async () => {
      looksAt.push(performance.now())
      await pause(tookMs)
      return found(0)
    },
    async () => [{ priority: 5, seq: '1' }] as never[],
  )
  while (asked.ticks < 4) await pause(1)
  // The first of them ends a rest, because nothing was known before.
  const rests = looksAt.slice(1).map((at, n) => at - (looksAt[n] as number))
  expect(Math.min(...rests)).toBeGreaterThan(20 * tookMs)
})
