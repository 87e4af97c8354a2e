import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { bundledProgram } from './bundled-programs.js'

/** What a worker process says: that a handler began, heard its signal or ended; or what its worker told as an event. */
export interface Said {
  what: 'ready' | 'begin' | 'abort' | 'end' | 'told'
  job: string
  worker: number
  /** Of an abort the reason's name, of an event its name. */
  detail?: string
  /** When it was heard here. */
  at: number
}

/** A witness outside the database: handlers in other processes say when they begin and end, and wait until it is heard. */
export interface Oracle {
  readonly said: Said[]
  /** How many handlers were at work at once, at most. */
  readonly most: number
  onSaid: (said: Said) => void
  startWorker(options: OracleWorkerOptions): Promise<ChildProcess>
  close(): Promise<void>
}

export interface OracleWorkerOptions {
  connectionString: string
  concurrency?: number
  lease?: string
  listen?: boolean
  /** Whether handlers wait until the oracle has heard them. Off where only the order of events in the database matters. */
  acknowledged?: boolean
}

export async function startOracle(): Promise<Oracle> {
  const running = new Map<string, number>()
  const children: ChildProcess[] = []
  const sockets = new Set<Socket>()
  const oracle = { said: [] as Said[], most: 0, onSaid: (_: Said) => {} }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.setNoDelay(true)
    const mine = new Set<string>()
    const lines = createInterface({ input: socket }).on('error', () => {})
    lines.on('line', (line) => {
      const said = { ...JSON.parse(line), at: performance.now() } as Said & { ack?: number }
      const run = `${said.job} ${said.worker}`
      if (said.what === 'begin') {
        running.set(run, said.worker)
        mine.add(run)
      }
      if (said.what === 'end') running.delete(run)
      oracle.most = Math.max(oracle.most, running.size)
      oracle.said.push(said)
      if (said.ack !== undefined) socket.write(`${said.ack}\n`)
      oracle.onSaid(said)
    })
    // A process that died runs nothing any more.
    socket.on('close', () => {
      for (const run of mine) running.delete(run)
      sockets.delete(socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  return Object.assign(oracle, {
    async startWorker(options: OracleWorkerOptions): Promise<ChildProcess> {
      const child = spawn(process.execPath, [bundledProgram('oracle-worker')], {
        env: { ...process.env, ORACLE: JSON.stringify({ port, ...options }) },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      children.push(child)
      let complained = ''
      child.stderr?.on('data', (text) => {
        complained += text
      })
      const before = oracle.said.filter((said) => said.what === 'ready').length
      const deadline = performance.now() + 30_000
      while (oracle.said.filter((said) => said.what === 'ready').length === before) {
        if (child.exitCode !== null || performance.now() > deadline) throw new Error(`the worker did not start: ${complained}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return child
    },
    async close(): Promise<void> {
      const ended = children
        .filter((child) => child.exitCode === null && child.signalCode === null)
        .map((child) => once(child, 'exit'))
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(ended)
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}
