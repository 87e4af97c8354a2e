import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Holdfast, type JobStory } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const program = fileURLToPath(new URL('../support/isolation/worker.mjs', import.meta.url))
const patient = { timeout: 60_000, interval: 100 }

let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client
let directory: string
let started: ChildProcess[] = []

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  directory = await mkdtemp(join(tmpdir(), 'holdfast-quarantine-'))
})
afterEach(async () => {
  for (const child of started) child.kill('SIGKILL')
  started = []
  await sql.end()
  await holdfast.close()
  await scratch.drop()
  await rm(directory, { recursive: true })
})

async function startWorkerProcess(options: object = {}): Promise<ChildProcess> {
  const child = spawn(process.execPath, [program, scratch.connectionString, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(child)
  await once(child.stdout as NodeJS.ReadableStream, 'data')
  return child
}

async function reaches(id: string, status: string): Promise<JobStory> {
  await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe(status), patient)
  return (await holdfast.job(id)) as JobStory
}

async function deadLetter(id: string): Promise<{ reason: string; error: { message: string; crashes?: string[] } }> {
  return (await sql.query('select reason, error from holdfast.dead_letters where job_id = $1', [id])).rows[0]
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

/** Registers the types without running anything. */
async function registerTypes(): Promise<void> {
  const worker = await startWorker(holdfast, new URL('../support/isolation/handlers.mjs', import.meta.url), { logger: quiet })
  await worker.stop()
}

describe('a job that was there when two workers died', { timeout: 120_000 }, () => {
  it('runs alone in a process: the culprit ends as poison with every crash, the innocent completes', async () => {
    await registerTypes()
    const [culpritGate, innocentGate] = [join(directory, 'culprit'), join(directory, 'innocent')]
    const culprit = await holdfast.enqueue('gate_inline', { file: culpritGate, misdeed: 'kill' })
    const innocent = await holdfast.enqueue('gate_inline', { file: innocentGate })
    await writeFile(innocentGate, '')
    for (let round = 1; round <= 2; round++) {
      await writeFile(culpritGate, '')
      const worker = await startWorkerProcess()
      await vi.waitFor(() => {
        for (const gate of [culpritGate, innocentGate]) expect(linesOf(`${gate}.started`)).toHaveLength(round)
      }, patient)
      expect(linesOf(`${culpritGate}.started`).at(-1)).toBe(String(worker.pid))
      await rm(culpritGate)
      if (worker.exitCode === null && worker.signalCode === null) await once(worker, 'exit')
      expect(worker.signalCode).toBe('SIGKILL')
    }
    await rm(innocentGate)
    const worker = await startWorkerProcess()

    const { attempts } = await reaches(culprit.id, 'dead')
    expect(attempts.map((attempt) => attempt.outcome)).toEqual(['lease_expired', 'lease_expired', 'crashed'])
    const { reason, error } = await deadLetter(culprit.id)
    expect(reason).toBe('poison')
    expect(error.message).toMatch(/crashed its host 3 times, last: its process was ended by SIGKILL/)
    expect(error.crashes).toHaveLength(3)
    expect(error.crashes?.[0]).toMatch(/^attempt 1, .*did not renew its lease/)

    const story = await reaches(innocent.id, 'completed')
    expect(story.attempts.map((attempt) => attempt.outcome)).toEqual(['lease_expired', 'lease_expired', 'completed'])
    expect(linesOf(`${innocentGate}.started`)).toHaveLength(3)
    expect(linesOf(`${innocentGate}.started`)[2]).not.toBe(String(worker.pid))
    expect(worker.signalCode).toBeNull()
  })

  it('is dead as poison at once where those were all the attempts it had', async () => {
    await registerTypes()
    const gate = join(directory, 'gate')
    const { id } = await holdfast.enqueue('gate_inline', { file: gate, misdeed: 'kill' }, { maxAttempts: 2 })
    for (let round = 1; round <= 2; round++) {
      const worker = await startWorkerProcess()
      if (worker.exitCode === null && worker.signalCode === null) await once(worker, 'exit')
    }
    await startWorkerProcess()
    await reaches(id, 'dead')
    const { reason, error } = await deadLetter(id)
    expect(reason).toBe('poison')
    expect(error.crashes).toEqual([
      expect.stringMatching(/^attempt 1, 20..-.*Z: worker \d+ did not renew its lease/),
      expect.stringMatching(/^attempt 2: worker \d+ did not renew its lease/),
    ])
  })

  it('is quarantined earlier where the worker was told so', async () => {
    await registerTypes()
    const gate = join(directory, 'gate')
    const { id } = await holdfast.enqueue('gate_inline', { file: gate, misdeed: 'kill' })
    const first = await startWorkerProcess({ quarantineAfter: 1 })
    if (first.exitCode === null && first.signalCode === null) await once(first, 'exit')
    await startWorkerProcess({ quarantineAfter: 1 })
    expect((await reaches(id, 'dead')).attempts.map((attempt) => attempt.outcome)).toEqual(['lease_expired', 'crashed'])
  })
})

describe('when a worker is killed', { timeout: 120_000 }, () => {
  it('the threads and processes of its handlers end with it, even those that never let go', async () => {
    await registerTypes()
    const worker = await startWorkerProcess()
    const pids: number[] = []
    for (const type of ['spin_thread', 'spin_process']) {
      const file = join(directory, type)
      await holdfast.enqueue(type, { file })
      await vi.waitFor(() => expect(linesOf(file)).toHaveLength(1), patient)
      pids.push(Number(linesOf(file)[0]))
    }
    expect(pids.every(isAlive)).toBe(true)
    worker.kill('SIGKILL')
    await vi.waitFor(() => expect(pids.filter(isAlive)).toEqual([]), patient)
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
