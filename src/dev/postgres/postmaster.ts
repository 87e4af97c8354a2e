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
 * Whether the process is the postmaster of that cluster. Its id alone proves nothing: ids are reused, quickly in a container. If the
 * system shows no command lines (Windows), the id has to be enough; the password then proves the rest.
 */
export function isPostmasterOf(clusterDir: string, pid: number): boolean {
  if (!isAlive(pid)) return false
  const line = commandLine(pid)
  return line === undefined || line.includes(clusterDir)
}

/**
 * Removes a postmaster.pid whose process id now belongs to something other than Postgres, because Postgres would refuse to start. It
 * renames the file first and reads it again: if another process replaced it in between, that one gets its file back.
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

/** Undefined if the system does not tell; empty for a zombie process. */
function commandLine(pid: number): string | undefined {
  if (process.platform === 'win32') return undefined
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8') || (isEndingPostgres(pid) ? undefined : '')
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return isAlive(pid) ? undefined : ''
  }
}

/** Linux takes the command line from a process that ends before it closes its files: until it is a zombie, it may hold its port. */
function isEndingPostgres(pid: number): boolean {
  return /\((postgres|postmaster)\) [^ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}
