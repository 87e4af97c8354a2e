import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { defineType, type Enqueued, type Holdfast } from 'holdfast'
import type { ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import { describe, expect, it, vi } from 'vitest'
import { eachTestHas } from '../support/fresh-installation.js'

const quiet = { info() {}, warn() {}, error() {} }
const soon = { timeout: 25_000, interval: 100 }
const oneMore = { key: 'k', onConflict: 'one_more' } as const
let scratch: ScratchDatabase
let holdfast: Holdfast

eachTestHas({ connections: 10 }, (made) => {
  ;({ scratch, holdfast } = made)
})

const isNow = (id: string, status: string) => vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe(status), soon)

describe('a worker that is killed while it holds a unique job', () => {
  const program = `
    import { Holdfast } from '${fileURLToPath(new URL('../../dist/index.js', import.meta.url))}'
    import { defineType } from '${fileURLToPath(new URL('../../dist/index.js', import.meta.url))}'
    import { startWorker } from '${fileURLToPath(new URL('../../dist/worker/index.js', import.meta.url))}'
    const holdfast = new Holdfast({ connectionString: process.argv[1] })
    const hangs = defineType({ type: 'sync', run: () => new Promise(() => {}) })
    await startWorker(holdfast, [hangs], { lease: '1s', unsafe: true, logger: { info() {}, warn() {}, error() {} } })`

  it.each([
    ['runs again and then frees its key', 5, 'completed'],
    ['frees its key where that was its last attempt', 1, 'dead'],
  ])('%s, and what waits behind it runs', async (_, maxAttempts, status) => {
    const type = defineType({ type: 'sync', run: () => {} })
    const first = await holdfast.enqueue(type, 'first', { unique: oneMore, maxAttempts })
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, scratch.connectionString], { stdio: 'inherit' })
    const gone = once(child, 'exit')
    let behind: Enqueued
    try {
      await isNow(first.id, 'processing')
      behind = await holdfast.enqueue(type, 'second', { unique: oneMore })
      expect(behind.status).toBe('queued_behind')
    } finally {
      child.kill('SIGKILL')
      await gone
    }
    await expect(holdfast.enqueue(type, 'x', { unique: { key: 'k' } })).rejects.toMatchObject({ jobId: first.id })
    const worker = await startWorker(holdfast, [type], { logger: quiet, lease: '1s', unsafe: true })
    await isNow(first.id, status)
    await isNow(behind.id, 'completed')
    expect(await holdfast.enqueue(type, 'next', { unique: { key: 'k' } })).toMatchObject({ status: 'created' })
    await worker.stop()
  })
})
