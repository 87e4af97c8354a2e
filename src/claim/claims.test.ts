import { expect, test } from 'vitest'
import type { ClaimedRow } from '../store/rows.js'
import { Claims } from './claims.js'
import type { LaneReader } from './lane-reader.js'
import type { Lane, Lanes } from './lanes.js'

const never = new AbortController().signal

/** A lane whose claims go as told, and what each of them asked for. */
function claimsThat(answers: (() => Promise<ClaimedRow[]>)[]) {
  const asked: number[] = []
  const reader = {
    lane: 1,
    claim(_worker: number, { limit }: { limit: number }) {
      asked.push(limit)
      return (answers.shift() ?? (() => Promise.resolve([])))()
    },
  } as unknown as LaneReader
  const group = { types: [1], atOnce: 100, room: () => 100, startable: () => 100 }
  const lane: Lane = { reader, group, leaseMs: 60_000, pollMs: 2_000, slots: 100 }
  const lanes = { enabled: [lane] } as unknown as Lanes
  const claims = new Claims(1, lanes, { room: () => 100, claimed: async () => {} })
  return { claims, asked }
}

test('after a claim whose answer never came one job is asked for, and after an answer as many as there is room for', async () => {
  const lost = () => Promise.reject(new Error('Query read timeout'))
  const { claims, asked } = claimsThat([lost, lost])
  await expect(claims.round(0, never)).rejects.toThrow('Query read timeout')
  expect(claims.unheard).toBe(true)
  claims.heard()
  await expect(claims.round(0, never)).rejects.toThrow('Query read timeout')
  await claims.round(0, never)
  await claims.round(0, never)
  expect(asked).toEqual([100, 1, 1, 100])
})

test('a claim that the database refused has claimed nothing: there is nothing to hand back', async () => {
  const refused = () => Promise.reject(Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' }))
  const { claims } = claimsThat([refused])
  await expect(claims.round(0, never)).rejects.toThrow('lock timeout')
  expect(claims.unheard).toBe(false)
})
