import { expect, test } from 'vitest'
import type { Monitor } from '../background/background.js'
import { sleep } from '../clock.js'
import type { ClaimedRow } from '../store/rows.js'
import type { Store } from '../store/store.js'
import { Claims } from './claims.js'
import type { LaneReader } from './lane-reader.js'
import { type Lane, Lanes } from './lanes.js'

const never = new AbortController().signal

type Answer = () => Promise<ClaimedRow[]>

/** A lane whose claims go as told, and what each of them asked for. */
function laneThat(id: number, answers: Answer[]) {
  const asked: number[] = []
  const reader = {
    lane: id,
    claim(_worker: number, { limit }: { limit: number }) {
      asked.push(limit)
      return (answers.shift() ?? (() => Promise.resolve([])))()
    },
  } as unknown as LaneReader
  const group = { types: [id], atOnce: 100, claimable: () => 100, inARow: () => 1 }
  const lane: Lane = { reader, group, leaseMs: 60_000, pollMs: 2_000, slots: 100 }
  return { lane, asked }
}

function monitorOf() {
  const troubles: string[] = []
  const monitor: Monitor = {
    asking: () => {},
    answered: () => {},
    failed: (_, error) => void troubles.push((error as Error).message),
    gaveUp: () => {},
  }
  return { monitor, troubles }
}

function claimsOf(...enabled: Lane[]) {
  const claimed: number[] = []
  const { monitor, troubles } = monitorOf()
  const claims = new Claims(1, { enabled } as unknown as Lanes, monitor, {
    claimable: () => 100,
    claimed: async (_, lane) => void claimed.push(lane.reader.lane),
    claimTook() {},
  })
  return { claims, troubles, claimed }
}

const refused = () => Promise.reject(Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' }))
const one = () => Promise.resolve([{} as ClaimedRow])

test('after a claim whose answer never came one job is asked for, and after an answer as many as the worker can take', async () => {
  const lost = () => Promise.reject(new Error('Query read timeout'))
  const { lane, asked } = laneThat(1, [lost, lost])
  const { claims } = claimsOf(lane)
  await expect(claims.round(0, never)).rejects.toThrow('Query read timeout')
  expect(claims.unacknowledged).toBe(true)
  claims.released()
  await expect(claims.round(0, never)).rejects.toThrow('Query read timeout')
  await claims.round(0, never)
  await claims.round(0, never)
  expect(asked).toEqual([100, 1, 1, 100])
})

test('a claim that the database refused has claimed nothing: there is nothing to hand back, and it is said', async () => {
  const { claims, troubles } = claimsOf(laneThat(1, [refused]).lane)
  await claims.round(0, never)
  expect(claims.unacknowledged).toBe(false)
  expect(claims.refused).toBe(true)
  expect(troubles).toEqual(['canceling statement due to lock timeout'])
})

test('where the claims of one lane are refused, those of the others go on in the same round, and that lane rests', async () => {
  const bad = laneThat(1, [refused])
  const { claims, claimed, troubles } = claimsOf(bad.lane, laneThat(2, [one, one]).lane)
  expect(await claims.round(0, never)).toMatchObject({ claimed: 1 })
  expect(claims.askAgainInMs).toBeLessThan(200)
  await claims.round(0, never)
  expect(claimed).toEqual([2, 2])
  expect(troubles).toHaveLength(1)
  expect(bad.asked).toHaveLength(1)
})

test('a lane that was refused is asked again after its rest, and one answer ends the trouble', async () => {
  const { lane, asked } = laneThat(1, [refused])
  const { claims } = claimsOf(lane)
  await claims.round(0, never)
  while (asked.length < 2) {
    await sleep(claims.askAgainInMs)
    await claims.round(0, never)
  }
  expect(claims.refused).toBe(false)
  expect(claims.askAgainInMs).toBe(Number.POSITIVE_INFINITY)
})

test('a lane that no claim is sent to, because it is full or refused, does not have the worker look again at once', async () => {
  const refusing = 3
  const store = {
    claim: ({ lane }: { lane: number }) => (lane === refusing ? refused() : Promise.resolve([])),
  } as unknown as Store
  const group = { types: [1], atOnce: 100, claimable: () => 100, inARow: () => 1 }
  const lanes = new Lanes(store, [group], 60_000, () => {})
  const row = { name: '', poll: 2_000, lease: null, slots: 100, enabled: true, types: [1] }
  lanes.update([
    { ...row, id: 1 },
    { ...row, id: 2, slots: 0 },
    { ...row, id: refusing },
  ])
  const { monitor } = monitorOf()
  const claims = new Claims(1, lanes, monitor, { claimable: ({ slots }) => slots, claimed: async () => {}, claimTook() {} })
  await claims.round(0, never)
  expect(claims.lookAgainInMs).toBe(Number.POSITIVE_INFINITY)
})
