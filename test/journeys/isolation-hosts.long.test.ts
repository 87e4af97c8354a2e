import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { directory, eachTestStartsAnew, holdfast, linesOf, patient, reaches, work } from '../support/isolated-work.js'
import { isRunning } from '../support/machine.js'

eachTestStartsAnew()

describe('hosts', { timeout: 90_000 }, () => {
  it('are replaced after so many jobs, between two of them', async () => {
    await work()
    const file = join(directory, 'recycled')
    const enqueued = await holdfast.enqueueMany(Array.from({ length: 15 }, () => ({ type: 'recycled', payload: { file } })))
    for (const { id } of enqueued) await reaches(id, 'completed')
    const pids = linesOf(file).map((line) => JSON.parse(line).pid)
    expect(pids).toHaveLength(15)
    expect(new Set(pids).size).toBe(3)
  })

  it('are replaced when they have grown too large', async () => {
    await work()
    const file = join(directory, 'growing')
    const enqueued = await holdfast.enqueueMany(Array.from({ length: 6 }, () => ({ type: 'growing', payload: { file } })))
    for (const { id } of enqueued) await reaches(id, 'completed')
    const kept = linesOf(file).map((line) => JSON.parse(line).note)
    expect(kept).toHaveLength(6)
    expect(Math.max(...kept)).toBeLessThanOrEqual(3)
  })

  it('that die one after the other are started ever more slowly, and health says so until one lives', async () => {
    const worker = await work()
    const crashes: { inARow: number; restMs: number }[] = []
    worker.events.on('host.crashed', (event) => crashes.push(event))
    for (let n = 0; n < 2; n++) {
      const { id } = await holdfast.enqueue('bad_process', { how: 'exit' })
      await reaches(id, 'dead')
    }
    expect(crashes.map((crash) => crash.inARow)).toEqual([1, 2, 3, 4])
    expect(crashes.map((crash) => crash.restMs)).toEqual([0, 500, 1_000, 2_000])
    expect(worker.health()).toMatchObject({ status: 'ok', crashing: [{ type: 'bad_process', inARow: 4 }] })
    const { id } = await holdfast.enqueue('bad_process', { how: 'nothing' })
    await reaches(id, 'completed')
    expect(worker.health().crashing).toBeUndefined()
  })

  it('are gone when their worker has stopped, and what ran in them was handed back without an attempt', async () => {
    const worker = await work({ drain: 0 })
    const files = ['report_thread', 'report_process'].map((type) => ({ type, file: join(directory, type) }))
    const ids: string[] = []
    for (const { type, file } of files) ids.push((await holdfast.enqueue(type, { file, wait: 60_000 })).id)
    await vi.waitFor(() => {
      for (const { file } of files) expect(linesOf(file)).toHaveLength(1)
    }, patient)
    await worker.stop()
    for (const { file } of files) expect(isRunning(JSON.parse(linesOf(file)[0] as string).pid)).toBe(false)
    for (const id of ids) {
      expect(await holdfast.job(id)).toMatchObject({ status: 'pending', attempt: 1, attempts: [{ outcome: 'handed_back' }] })
    }
  })
})

describe('work that needs the CPU, in threads', { timeout: 90_000 }, () => {
  it('does not hold up what runs in the worker', async () => {
    const worker = await work({ drain: 0 })
    const timesOf = async (): Promise<number> => {
      const times: number[] = []
      const hear = (event: { ms: number }) => times.push(event.ms)
      worker.events.on('job.completed', hear)
      await holdfast.enqueueMany(Array.from({ length: 500 }, () => ({ type: 'fine', payload: 0 })))
      await vi.waitFor(() => expect(times).toHaveLength(500), patient)
      worker.events.off('job.completed', hear)
      return times.sort((a, b) => a - b)[494] as number
    }
    await timesOf()
    const before = await timesOf()
    const file = join(directory, 'spin')
    await holdfast.enqueueMany([1, 2].map(() => ({ type: 'spin_thread', payload: { file } })))
    await vi.waitFor(() => expect(linesOf(file)).toHaveLength(2), patient)
    // In the worker's own loop each no-op would wait for ever: the two spin until they are stopped. The floor is what the scheduler of a
    // machine may add on which these two threads and others keep every core busy.
    expect(await timesOf()).toBeLessThan(Math.max(2 * before, 1_000))
    await worker.stop()
  })
})
