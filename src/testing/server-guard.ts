/**
 * A program, started by server.ts: waits until its input ends, which it does when the process that started it is gone,
 * then ends the Postgres servers in the directories it was told and removes those. A server would otherwise outlive a
 * test run that was cut short. The price is one idle Node process as long as the tests run.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sleep } from '../clock.js'

const directories = new Set<string>()
for await (const line of createInterface({ input: process.stdin })) directories.add(line)
for (const directory of directories) {
  const servers = postmastersIn(directory)
  for (const pid of servers) end(pid)
  for (let tries = 0; tries < 200 && servers.some(isAlive); tries++) await sleep(50)
  // A server that was just being made may still write while its files go.
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }).catch(() => {})
}

/** The first line of postmaster.pid, in whichever clusters stand in this directory. */
function postmastersIn(directory: string): number[] {
  try {
    return readdirSync(directory)
      .map((name) => firstNumberIn(join(directory, name, 'postmaster.pid')))
      .filter((pid) => pid > 0)
  } catch {
    return []
  }
}

function firstNumberIn(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10)
  } catch {
    return 0
  }
}

/** SIGQUIT is Postgres' immediate shutdown: nobody needs the data any more. */
function end(pid: number): void {
  try {
    process.kill(pid, 'SIGQUIT')
  } catch {
    // It has gone by itself.
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
