import { type ChildProcess, fork } from 'node:child_process'
import type { HoldfastOptions } from 'holdfast'
import type { Health, WorkerOptions } from 'holdfast/worker'
import { onTestFinished } from 'vitest'
import { bundledProgram } from './bundled-programs.js'
import { eventually } from './facts.js'

export interface Said {
  said: string
  job?: string
  attempt?: number
  [field: string]: unknown
}

/** A process that runs workers. Killed when the test ends, if it is still there. */
export interface Fleet {
  readonly pid: number
  readonly said: readonly Said[]
  /** Whether the process is still the one that was started. */
  readonly alive: boolean
  complaints(): string
  /** Jobs whose handler was called, once for each call. */
  started(): string[]
  health(): Promise<Health>
  cpuMs(): Promise<number>
  /** Lets the jobs that wait at this gate go on. */
  open(gate: string): void
  /** Stops the workers, closes, and resolves with the exit code when the process has ended by itself. */
  stop(): Promise<number | null>
}

export interface FleetSettings {
  holdfast: Omit<HoldfastOptions, 'pool'>
  worker?: Omit<WorkerOptions, 'logger'>
  workers?: number
}

export async function startFleet(settings: FleetSettings, execArgv: string[] = []): Promise<Fleet> {
  const child: ChildProcess = fork(bundledProgram('fleet-program'), [JSON.stringify(settings)], {
    execArgv,
    env: { ...process.env, NODE_OPTIONS: '' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const said: Said[] = []
  const asked = new Map<number, (answer: unknown) => void>()
  let complained = ''
  let questions = 0
  child.stderr?.on('data', (text) => {
    complained += text
  })
  child.on('message', (message: Said) => {
    if (message.said !== 'answer') said.push(message)
    else asked.get(message.id as number)?.(message.answer)
  })
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  const gone = () => child.exitCode !== null || child.signalCode !== null
  onTestFinished(async () => {
    if (!gone()) child.kill('SIGKILL')
    await closed
  })
  const ask = <Answer>(what: string): Promise<Answer> => {
    const id = questions++
    const answer = new Promise<Answer>((resolve) => asked.set(id, resolve as (answer: unknown) => void))
    child.send({ ask: what, id })
    return answer
  }
  await eventually(
    () => {
      if (gone()) throw new Error(`the fleet ended before it was ready: ${complained}`)
      return said.some((line) => line.said === 'ready')
    },
    { within: 60_000 },
  )
  return {
    pid: child.pid as number,
    said,
    get alive() {
      return !gone()
    },
    complaints: () => complained,
    started: () => said.filter((line) => line.said === 'started').map((line) => line.job as string),
    health: () => ask<Health>('health'),
    cpuMs: () => ask<number>('cpuMs'),
    open: (gate) => void child.send({ open: gate }),
    async stop() {
      child.send({ ask: 'stop', id: questions++ })
      return closed
    },
  }
}
