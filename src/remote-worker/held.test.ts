import { expect, onTestFinished, test, vi } from 'vitest'
import { monotonicMs } from '../clock.js'
import type { WorkerCalls } from './calls.js'
import { HeldLeases } from './held.js'

const intervalMs = 20

function leasesWith(heartbeat: () => Promise<unknown>) {
  const monitor = { asking: vi.fn(), answered: vi.fn(), failed: vi.fn(), gaveUp: vi.fn() }
  const events = { lost: vi.fn(), cancelled: vi.fn(), ordered: vi.fn() }
  const leases = new HeldLeases({ heartbeat } as unknown as WorkerCalls, intervalMs, monitor, events)
  leases.start()
  onTestFinished(() => leases.stop())
  return { leases, monitor, events }
}

test('a heartbeat that failed is made up for, also when nothing is held any more', async () => {
  let away = true
  const answer = { lost: [], cancelled: [], drain: null }
  const { leases, monitor } = leasesWith(async () => (away ? Promise.reject(new Error('away')) : answer))
  leases.hold('1', 60_000, monotonicMs())
  await vi.waitFor(() => expect(monitor.failed).toHaveBeenCalledWith('heartbeats', expect.any(Error)), { timeout: 20_000 })
  leases.release(['1'])
  away = false
  await vi.waitFor(() => expect(monitor.answered).toHaveBeenCalledWith('heartbeats'), { timeout: 20_000 })
})

test('a lease that is lost is still one that this worker has heard of, until the server has forgotten it', async () => {
  const { leases, events } = leasesWith(() => Promise.reject(new Error('away')))
  leases.hold('1', 30, monotonicMs())
  await vi.waitFor(() => expect(events.lost).toHaveBeenCalled(), { timeout: 20_000 })
  leases.hold('2', 60_000, monotonicMs())
  expect(leases.known).toEqual(['1', '2'])
  leases.loseAll()
  expect(leases.known).toEqual([])
})

test('a lease that no answer renews in time is lost, and one whose results are all there is not told of', async () => {
  const { leases, events } = leasesWith(() => Promise.reject(new Error('away')))
  leases.hold('1', 30, monotonicMs())
  leases.hold('2', 30, monotonicMs())
  leases.ended('2')
  await vi.waitFor(() => expect(events.lost).toHaveBeenCalled(), { timeout: 20_000 })
  expect(events.lost.mock.calls).toEqual([[['1']]])
})
