import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from './programs.js'
import { waitFor } from './wait.js'

/** What Postgres itself writes into the cluster while it runs. */
export interface PostmasterFile {
  pid: number
  port: number
  status: 'starting' | 'ready' | 'stopping' | 'standby' | undefined
}

export async function readPostmasterFile(clusterDir: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => '')
  const lines = text.split('\n').map((line) => line.trim())
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3]), status: (lines[7] || undefined) as PostmasterFile['status'] } : undefined
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Whether the process is the postmaster of that cluster. Its number alone proves nothing: numbers are used again, soon so in a
 * container. Where the system shows no command lines (Windows), the number must do; the password then proves the rest.
 */
export function isPostmasterOf(clusterDir: string, pid: number): boolean {
  if (!isAlive(pid)) return false
  const line = commandLine(pid)
  return line === undefined || line.includes(clusterDir)
}

/**
 * Takes away a postmaster.pid whose number now belongs to something that is no Postgres, since Postgres would refuse to start.
 * Renamed first and then read again: if another starter replaced the file in between, it gets its file back.
 */
export async function discardStalePostmasterFile(clusterDir: string): Promise<void> {
  const seen = await readPostmasterFile(clusterDir)
  if (!seen || !isAlive(seen.pid) || /postgres|postmaster/.test(commandLine(seen.pid) ?? 'postgres')) return
  const file = join(clusterDir, 'postmaster.pid')
  const aside = `${file}.stale-${process.pid}`
  await rename(file, aside).catch(() => {})
  const taken = Number.parseInt(await readFile(aside, 'utf8').catch(() => ''), 10)
  await (taken === seen.pid ? rm(aside, { force: true }) : rename(aside, file).catch(() => {}))
}

/** Asks the postmaster to end and returns when it has. `fast` ends every session; `immediate` is a crash, recovered at the next start. */
export async function stopPostmaster(clusterDir: string, pid: number, mode: 'fast' | 'immediate', pgCtl: string): Promise<void> {
  if (!isPostmasterOf(clusterDir, pid)) return
  const signal = mode === 'fast' ? 'SIGINT' : 'SIGQUIT'
  // Windows has no signals: Node would end the process outright, and Postgres has a channel of its own for this.
  if (process.platform === 'win32') await runProgram(pgCtl, ['kill', signal.slice(3), String(pid)])
  else process.kill(pid, signal)
  if (await waitFor(60, () => !isPostmasterOf(clusterDir, pid) || undefined)) return
  throw new Error(`Postgres (process ${pid}, ${clusterDir}) did not stop within 60 seconds`)
}

/** Undefined where the system does not tell; empty for a process that has ended but was not yet waited for. */
function commandLine(pid: number): string | undefined {
  if (process.platform === 'win32') return undefined
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return isAlive(pid) ? undefined : ''
  }
}
