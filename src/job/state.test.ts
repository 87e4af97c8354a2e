import { describe, expect, it } from 'vitest'
import { canMove, isFinal, isStatus, type JobStatus, moves, statuses } from './state.js'

const all = Object.keys(statuses) as JobStatus[]

function reachableFrom(start: JobStatus | null): Set<JobStatus> {
  const seen = new Set<JobStatus>()
  const open: (JobStatus | null)[] = [start]
  for (let from = open.pop(); from !== undefined; from = open.pop()) {
    for (const move of moves) {
      if (move.from !== from || seen.has(move.to)) continue
      seen.add(move.to)
      open.push(move.to)
    }
  }
  return seen
}

describe('the states of a job', () => {
  it('are the ten words everyone uses', () => {
    expect(all.sort()).toEqual(
      [
        'awaiting_approval',
        'blocked',
        'cancelled',
        'completed',
        'dead',
        'discarded',
        'failed',
        'pending',
        'processing',
        'scheduled',
      ].sort(),
    )
  })

  it('can all be reached from creation', () => {
    expect([...reachableFrom(null)].sort()).toEqual(all.sort())
  })

  it('end, finally, in completed or discarded and nowhere else', () => {
    expect(all.filter(isFinal).sort()).toEqual(['completed', 'discarded'])
  })

  it.each(all.filter((status) => !isFinal(status)))('lead from %s to a visible end: no job can be caught in a loop', (status) => {
    const ends = reachableFrom(status)
    expect(ends.has('completed')).toBe(true)
    expect(ends.has('cancelled')).toBe(true)
  })

  it('leave dead only because somebody replayed or discarded it', () => {
    expect(new Set(moves.filter((move) => move.from === 'dead').map((move) => move.by))).toEqual(new Set(['replay', 'discard']))
  })

  it('leave cancelled only because somebody resumed it', () => {
    expect(new Set(moves.filter((move) => move.from === 'cancelled').map((move) => move.by))).toEqual(new Set(['resume']))
  })

  it('enter processing by a claim only, and from pending only', () => {
    expect(moves.filter((move) => move.to === 'processing')).toEqual([{ from: 'pending', to: 'processing', by: 'claim' }])
  })

  it('enter completed, failed and dead from processing only, except those that expire or are buried', () => {
    for (const to of ['completed', 'failed', 'dead']) {
      expect(
        new Set(moves.filter((move) => move.to === to && move.by !== 'expire' && move.by !== 'bury').map((move) => move.from)),
      ).toEqual(new Set(['processing']))
    }
  })

  it('are cancelled from every status that waits or runs', () => {
    const cancelled = moves.filter((move) => move.by === 'cancel').map((move) => move.from)
    expect(cancelled.sort()).toEqual(['awaiting_approval', 'blocked', 'failed', 'pending', 'processing', 'scheduled'])
  })

  it('never name the same move twice, nor one that stays where it is', () => {
    const named = moves.map((move) => `${move.from} ${move.to} ${move.by}`)
    expect(new Set(named).size).toBe(named.length)
    expect(moves.filter((move) => move.from === move.to)).toEqual([])
  })

  it('say for every pair whether the move exists', () => {
    for (const from of [null, ...all]) {
      for (const to of all) expect(canMove(from, to)).toBe(moves.some((move) => move.from === from && move.to === to))
    }
    expect(canMove('completed', 'pending')).toBe(false)
    expect(canMove(null, 'processing')).toBe(false)
    expect(canMove('dead', 'pending')).toBe(true)
  })

  it('are told from other words', () => {
    expect(all.every(isStatus)).toBe(true)
    expect(isStatus('constructor')).toBe(false)
    expect(isStatus('Pending')).toBe(false)
  })
})
