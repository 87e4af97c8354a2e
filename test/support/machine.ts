import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'

export const isRoot = process.getuid?.() === 0

/** An ordinary user that every system has. */
export const nobody = { uid: idOf('-u'), gid: idOf('-g') }

/** Whether we can start programs as that user: only root can, and only where that user may run node. */
export function nobodyRunsNode(): boolean {
  return isRoot && spawnSync(process.execPath, ['--version'], { uid: nobody.uid, gid: nobody.gid, cwd: '/' }).status === 0
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** An orphan that has ended stays listed until somebody waits for it, which in a container may be nobody. */
export function isRunning(pid: number): boolean {
  if (!isAlive(pid)) return false
  if (!existsSync('/proc')) return true
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Every process that names the directory in its command line, or works in it. */
export async function processesNaming(directory: string): Promise<number[]> {
  const found: number[] = []
  for (const pid of (await readdir('/proc')).map(Number).filter(Boolean)) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    const at = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    if ((line.includes(directory) || at.startsWith(directory)) && isRunning(pid)) found.push(pid)
  }
  return found
}

function idOf(flag: '-u' | '-g'): number {
  return Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout) | 0
}
