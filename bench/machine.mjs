// What was measured, where, on which code, and who else used the machine: without it a number means nothing.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, loadavg, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { nodeVersion, versionOf } from './install.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What ended a moment ago still stands in the load of the last minute. Whoever goes on using the machine is not waited for. */
export async function untilQuiet() {
  const until = performance.now() + 120_000
  while (loadavg()[0] > 0.5 && performance.now() < until) await pause(1_000)
}

export function describeMachine() {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
  }
}

export function describeVersions(postgres, redis) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const peers = ['graphile-worker', 'pg-boss', 'bullmq', '@dbos-inc/dbos-sdk', 'pg']
  return {
    holdfast: version,
    node: nodeVersion(),
    postgres,
    redis: redis ?? null,
    ...Object.fromEntries(peers.map((name) => [name, versionOf(name)])),
  }
}

/** The commit, and the hash that git has for `src` as it stands in the working tree: two runs with the same one measured the same code. */
export function describeCode() {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-index-'))
  // An index of our own: that of the repository is not ours to change.
  const env = { ...process.env, GIT_INDEX_FILE: join(directory, 'index') }
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    git('read-tree', 'HEAD')
    git('add', '--all', 'src')
    const tree = git('write-tree', '--prefix=src/')
    const changed = tree === git('rev-parse', 'HEAD:src') ? '' : ' with changes'
    return { commit: git('rev-parse', '--short', 'HEAD') + changed, tree }
  } catch {
    return { commit: 'unknown', tree: undefined }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * Starts to watch who else uses the processors; answers with how much of them all others took since, in percent. `serverCpuMs`: what the
 * server has used, which is no child of this process. Only Linux tells; null elsewhere.
 */
export function watchOthers(serverCpuMs) {
  const begun = usedMs(serverCpuMs)
  return () => {
    if (!begun) return null
    const now = usedMs(serverCpuMs)
    const others = now.all - begun.all - (now.own - begun.own)
    return Math.max(0, Math.round((others / (now.possible - begun.possible)) * 100))
  }
}

const tickMs = 10

function usedMs(serverCpuMs) {
  if (process.platform !== 'linux') return undefined
  const [user, nice, system, idle, waiting, irq, softirq, steal = 0] = readFileSync('/proc/stat', 'utf8')
    .split('\n')[0]
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const all = user + nice + system + irq + softirq + steal
  // Of this process and of all that it started and that have ended.
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0)
  return { all: all * tickMs, own: own * tickMs + serverCpuMs(), possible: (all + idle + waiting) * tickMs }
}
