// A Redis of our own for the peer that needs one: a free port on loopback, a directory that goes with it.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { forgetDirectory, forgetProcess, guardDirectory, guardProcess } from './processes.mjs'

export const redisSettings = { appendonly: 'yes', appendfsync: 'everysec', save: '', 'maxmemory-policy': 'noeviction' }

/** Undefined where the machine has no redis-server. */
export async function startRedis() {
  const version = redisVersion()
  if (!version) return undefined
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-bench-redis-'))
  guardDirectory(directory)
  const port = await freePort()
  const settings = Object.entries(redisSettings).flatMap(([name, value]) => [`--${name}`, value])
  const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--daemonize', 'no']
  const server = spawn('redis-server', [...settings, ...fixed], { stdio: ['ignore', 'pipe', 'inherit'] })
  guardProcess(server.pid)
  await ready(server)
  server.stdout.resume()
  const stop = async () => {
    if (server.exitCode === null) {
      const gone = once(server, 'exit')
      server.kill('SIGKILL')
      await gone
    }
    forgetProcess(server.pid)
    await rm(directory, { recursive: true, force: true })
    forgetDirectory(directory)
  }
  return { url: `redis://127.0.0.1:${port}`, version, stop }
}

export function redisVersion() {
  try {
    return /v=([\d.]+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1]
  } catch {
    return undefined
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function ready(server) {
  let said = ''
  server.stdout.on('data', (chunk) => {
    said += chunk
  })
  for (let tries = 0; tries < 200; tries++) {
    if (/ready to accept connections/i.test(said)) return
    if (server.exitCode !== null) break
    await pause(50)
  }
  server.kill('SIGKILL')
  throw new Error(`redis-server does not start: ${said}`)
}
