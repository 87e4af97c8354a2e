// A program that waits for its input to end, as it does when the bench is gone, however that went; then ends what the bench
// started, by id, and removes its directories. Postgres lives in a session of its own and would outlive a bench cut short.
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
const processes = new Map()
const directories = new Set()
for await (const line of createInterface({ input: process.stdin })) {
  const { pid, directory, forget } = JSON.parse(line)
  if (pid && forget) processes.delete(pid)
  else if (pid) processes.set(pid, 'SIGKILL')
  else if (forget) directories.delete(directory)
  else directories.add(directory)
}
// SIGQUIT is an immediate shutdown of Postgres: nobody needs the data any more.
for (const directory of directories) for (const pid of postmastersIn(directory)) processes.set(pid, 'SIGQUIT')
for (const [pid, signal] of processes) send(pid, signal)
for (let tries = 0; tries < 200 && [...processes.keys()].some((pid) => send(pid, 0)); tries++) await pause(50)
for (const directory of directories) {
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }).catch(() => {})
}

/** The clusters stand one level below; each says in its first line who serves it. */
function postmastersIn(directory) {
  try {
    return readdirSync(directory)
      .map((name) => Number.parseInt(read(join(directory, name, 'postmaster.pid')), 10))
      .filter((pid) => pid > 0)
  } catch {
    return []
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function send(pid, signal) {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
