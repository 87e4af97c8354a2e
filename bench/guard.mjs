// A program that waits for its input to end, as it does when the bench is gone, however that went; then ends what the bench
// started, by id, and removes its directories. Postgres lives in a session of its own and would outlive a bench cut short.
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'

process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
const processes = new Map()
const directories = new Set()
for await (const line of createInterface({ input: process.stdin })) {
  const { pid, signal, directory, forget } = JSON.parse(line)
  if (pid && forget) processes.delete(pid)
  else if (pid) processes.set(pid, signal)
  else if (forget) directories.delete(directory)
  else directories.add(directory)
}
for (const [pid, signal] of processes) send(pid, signal)
for (let tries = 0; tries < 200 && [...processes.keys()].some((pid) => send(pid, 0)); tries++) await pause(50)
for (const directory of directories) {
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }).catch(() => {})
}

function send(pid, signal) {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
