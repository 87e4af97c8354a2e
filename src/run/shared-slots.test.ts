import { expect, test, vi } from 'vitest'
import { type Share, SharedSlots } from './shared-slots.js'

/** One that shares, with jobs in line and jobs that run. */
function sharer(slots: SharedSlots, jobs = 0) {
  const it = { jobs, offers: 0, share: undefined as unknown as Share, fill: () => {} }
  it.fill = () => {
    while (it.jobs > 0 && it.share.free > 0) {
      it.jobs -= 1
      it.share.take()
    }
  }
  it.share = slots.join({
    ready: () => it.jobs,
    fill: () => it.fill(),
    offered: () => {
      it.offers += 1
    },
  })
  it.fill()
  return it
}

test('one may use all slots while the other has no jobs', () => {
  const slots = new SharedSlots(3)
  const [eu] = [sharer(slots, 5), sharer(slots)]
  expect([eu.share.used, eu.jobs]).toEqual([3, 2])
})

test('slots that become free go to the one that uses fewest, until both have as many', () => {
  const slots = new SharedSlots(4)
  const [eu, us] = [sharer(slots, 100), sharer(slots, 100)]
  expect([eu.share.used, us.share.used]).toEqual([4, 0])
  for (let n = 0; n < 10; n++) (eu.share.used > us.share.used ? eu : us).share.give()
  expect([eu.share.used, us.share.used]).toEqual([2, 2])
})

test('one slot is taken in turns', () => {
  const slots = new SharedSlots(1)
  const [eu, us] = [sharer(slots, 100), sharer(slots, 100)]
  for (let n = 0; n < 10; n++) (eu.share.used > 0 ? eu : us).share.give()
  expect([eu.jobs, us.jobs].map((left) => 100 - left)).toEqual([6, 5])
})

test('a slot is kept for one that has first to claim a job, until its claim is answered', () => {
  const slots = new SharedSlots(1)
  const [eu, us] = [sharer(slots, 100), sharer(slots)]
  us.share.want()
  eu.share.give()
  expect([us.offers, us.share.free, eu.share.free]).toEqual([1, 1, 0])
  us.jobs = 1
  us.fill()
  us.share.answered()
  expect([us.share.used, eu.share.used]).toEqual([1, 0])
  us.share.give()
  us.share.want()
  // There was nothing to claim.
  eu.share.give()
  expect([us.offers, us.share.kept, eu.share.used]).toEqual([2, true, 0])
  us.share.answered()
  expect([us.share.kept, eu.share.used]).toEqual([false, 1])
})

test('a slot is not kept for long for one whose database says nothing', async () => {
  const slots = new SharedSlots(1)
  const [eu, us] = [sharer(slots, 100), sharer(slots)]
  us.share.want()
  eu.share.give()
  expect(eu.share.used).toBe(0)
  await expect.poll(() => eu.share.used).toBe(1)
})

test('one whose database was slow is waited for longer the next time', () => {
  vi.useFakeTimers()
  try {
    const slots = new SharedSlots(1)
    const [eu, us] = [sharer(slots, 100), sharer(slots)]
    const offerToUs = () => {
      us.share.want()
      eu.share.give()
    }
    offerToUs()
    vi.advanceTimersByTime(250)
    expect([us.share.kept, eu.share.used]).toEqual([false, 1])
    offerToUs()
    vi.advanceTimersByTime(490)
    expect([us.share.kept, eu.share.used]).toEqual([true, 0])
    vi.advanceTimersByTime(10)
    // A database that says nothing is not waited for without end.
    for (let n = 0; n < 10; n++) {
      offerToUs()
      vi.advanceTimersByTime(2_000)
      expect(eu.share.used).toBe(1)
    }
  } finally {
    vi.useRealTimers()
  }
})

test('one whose jobs cannot begin leaves the slot to the next', () => {
  const slots = new SharedSlots(1)
  const [eu, us] = [sharer(slots, 1), sharer(slots, 0)]
  const stuck = slots.join({ ready: () => 5, fill: () => {}, offered: () => {} })
  us.jobs = 1
  eu.share.give()
  expect([stuck.used, us.share.used]).toEqual([0, 1])
})
