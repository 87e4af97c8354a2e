import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { eventually } from './facts.js'
import { freePort } from './free-port.js'

/** A Redis on loopback that writes nothing. It can be killed and come back at the same port. */
export interface RedisServer {
  readonly url: string
  kill(): Promise<void>
  start(): Promise<void>
}

export async function startRedis(program: string): Promise<RedisServer> {
  const port = await freePort()
  let child: ChildProcess | undefined
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const start = async () => {
    const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    child = spawn(program, settings, { stdio: 'ignore' })
    await eventually(() => answers(port))
  }
  onTestFinished(kill)
  await start()
  return { url: `redis://127.0.0.1:${port}`, kill, start }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } finally {
    socket.destroy()
  }
}
