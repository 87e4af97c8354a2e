import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker, type WorkerOptions } from 'holdfast/worker'
import { afterEach, beforeEach, expect, vi } from 'vitest'

// What tests of isolated handlers share: before each a database and a directory of its own, after each no worker that still runs.

const quiet = { info() {}, warn() {}, error() {} }
const handlers = new URL('./isolation/handlers.mjs', import.meta.url)
export const patient = { timeout: 60_000, interval: 100 }

let scratch: ScratchDatabase
export let holdfast: Holdfast
export let directory: string
let workers: Worker[] = []

/** To be called once by a file: files share a process, in which this one is loaded only once. */
export function eachTestStartsAnew(): void {
  beforeEach(async () => {
    scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
    holdfast = new Holdfast({ connectionString: scratch.connectionString })
    directory = await mkdtemp(join(tmpdir(), 'holdfast-isolation-'))
  })
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    workers = []
    await holdfast.close()
    await scratch.drop()
    await rm(directory, { recursive: true })
  })
}

export async function work(options: WorkerOptions = {}): Promise<Worker> {
  const worker = await startWorker(holdfast, handlers, { logger: quiet, ...options })
  workers.push(worker)
  return worker
}

export async function reaches(id: string, status: string): Promise<NonNullable<Awaited<ReturnType<Holdfast['job']>>>> {
  await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe(status), patient)
  return (await holdfast.job(id)) as NonNullable<Awaited<ReturnType<Holdfast['job']>>>
}

export function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}
