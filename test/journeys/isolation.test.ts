import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { insideOf } from 'holdfast/inside'
import { describe, expect, it, vi } from 'vitest'
import { directory, eachTestStartsAnew, holdfast, linesOf, patient, reaches, work } from '../support/isolated-work.js'
import { isRunning } from '../support/machine.js'

eachTestStartsAnew()

describe('across the border', { timeout: 90_000 }, () => {
  it('a handler sees the same job, wherever it runs, and a thread is not in the process of the worker', async () => {
    await work()
    const seen: Record<string, unknown>[] = []
    for (const type of ['report_inline', 'report_thread', 'report_process']) {
      const file = join(directory, type)
      const { id } = await holdfast.enqueue(type, { file, note: 'ünïcode "quoted"' }, { priority: 7, maxAttempts: 3 })
      const { createdAt } = await reaches(id, 'completed')
      const line = JSON.parse(linesOf(file)[0] as string)
      expect(line).toMatchObject({ id, type, priority: 7, attempt: 1, maxAttempts: 3, createdAt: createdAt.toISOString() })
      expect(line.note).toBe('ünïcode "quoted"')
      expect(BigInt(line.fence)).toBeGreaterThan(0n)
      seen.push(line)
    }
    expect(seen.map((line) => line.pid === process.pid)).toEqual([true, false, false])
    expect(seen.map((line) => line.isMainThread)).toEqual([true, false, true])
  })

  it.each(['thread', 'process'])('a handler in a %s extends its lease, snoozes and hears its signal', async (kind) => {
    await work()
    const type = `context_${kind}`
    const extended = await holdfast.enqueue(type, { ask: 'extend' })
    await reaches(extended.id, 'completed')
    const snoozed = await holdfast.enqueue(type, { ask: 'snooze' })
    await reaches(snoozed.id, 'scheduled')
    const file = join(directory, 'reason')
    const timed = await holdfast.enqueue(type, { ask: 'signal', file })
    expect((await reaches(timed.id, 'dead')).attempts).toMatchObject([{ outcome: 'timed_out' }])
    expect(linesOf(file)).toEqual(['TimeoutError'])
  })

  it.each(['thread', 'process'])('errors thrown in a %s mean what they mean inline', async (kind) => {
    await work()
    const fatal = await holdfast.enqueue(`bad_${kind}`, { how: 'fatal' })
    const later = await holdfast.enqueue(`bad_${kind}`, { how: 'retryLater' })
    expect((await reaches(fatal.id, 'dead')).attempts).toMatchObject([{ error: { name: 'FatalError', message: 'no use' } }])
    const { dueAt } = await reaches(later.id, 'failed')
    expect((dueAt as Date).getTime()).toBeGreaterThan(Date.now() + 50 * 60_000)
  })

  it('a lease that is lost ends the handler in its process', async () => {
    const worker = await work({ lease: '1s', unsafe: true })
    const file = join(directory, 'lost')
    await holdfast.enqueue('report_process', { file, wait: 60_000 })
    await vi.waitFor(() => expect(linesOf(file)).toHaveLength(1), patient)
    await insideOf(holdfast).store.database.query({ name: 'steal', text: 'delete from holdfast.leases' }, [])
    await vi.waitFor(() => expect(worker.health().running).toBe(0), patient)
    await worker.stop()
    expect(isRunning(JSON.parse(linesOf(file)[0] as string).pid)).toBe(false)
  })
})

describe('one bad job among neighbours', { timeout: 90_000 }, () => {
  it('brings down the supervisor of its type, and the others run again at once without paying for it', async () => {
    await work()
    const file = join(directory, 'gate')
    await writeFile(file, '')
    const [bad, one, two] = await holdfast.enqueueMany([
      { type: 'gate_thread', payload: { file, misdeed: 'kill' } },
      { type: 'gate_thread', payload: { file } },
      { type: 'gate_thread', payload: { file } },
    ])
    await vi.waitFor(() => expect(linesOf(`${file}.started`)).toHaveLength(3), patient)
    expect(new Set(linesOf(`${file}.started`)).size).toBe(1)
    await rm(file)
    for (const id of [one?.id, two?.id]) {
      const { attempts } = await reaches(id as string, 'completed')
      expect(attempts).toMatchObject([{ outcome: 'completed', attempt: 1 }])
    }
    const { attempts } = await reaches(bad?.id as string, 'dead')
    expect(attempts.map((attempt) => attempt.outcome)).toEqual(['crashed', 'crashed'])
  })
})

describe('an inline handler that ignores its signal', { timeout: 60_000 }, () => {
  it('frees its slot, and is reported by type as overrunning', async () => {
    const worker = await work({ concurrency: 1 })
    const told: string[] = []
    worker.events.on('job.overrunning', (event) => told.push(event.type))
    const stuck = await holdfast.enqueue('bad_inline', { how: 'never' }, { maxAttempts: 1 })
    expect((await reaches(stuck.id, 'dead')).attempts).toMatchObject([{ outcome: 'timed_out' }])
    const next = await holdfast.enqueue('fine', 0)
    await reaches(next.id, 'completed')
    await vi.waitFor(() => expect(told).toEqual(['bad_inline']), patient)
    expect(worker.health()).toMatchObject({ status: 'ok', running: 0, overrunning: { bad_inline: 1 } })
  })
})
