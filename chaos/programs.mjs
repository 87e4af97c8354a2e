// Programs of the system that some campaigns need, and whether they are there.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'

export function findProgram(name) {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return directories.map((directory) => join(directory, name)).find(isExecutable)
}

/** The newest PostgreSQL of the system that has all its programs: the embedded one has only what a server needs. */
export function systemPostgres() {
  const base = '/usr/lib/postgresql'
  const versions = existsSync(base) ? readdirSync(base).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => join(base, version, 'bin')).find((bin) => isExecutable(join(bin, 'pg_basebackup')))
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

/** The id of a user without rights, for programs that refuse to run as root. */
export function nobody() {
  const id = (flag) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout)
  return process.getuid?.() === 0 ? { uid: id('-u'), gid: id('-g') } : {}
}

/** A program that runs until it is ended; killed with this process. */
export function keepRunning(file, args, options = {}) {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], ...options })
  const exit = () => child.kill('SIGKILL')
  process.once('exit', exit)
  let complaints = ''
  child.stderr.on('data', (text) => {
    complaints = (complaints + text).slice(-2_000)
  })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  return {
    pid: child.pid,
    complaints: () => complaints,
    gone,
    async end(signal = 'SIGKILL') {
      child.kill(signal)
      await gone
      process.off('exit', exit)
    },
  }
}
