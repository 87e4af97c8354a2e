// What was measured, where, and at which commit: without it a number means nothing.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { nodeVersion, versionOf } from './install.mjs'

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
    // Above zero before the bench has done anything: somebody else is using the machine.
    loadBefore: Math.round(loadavg()[0] * 100) / 100,
  }
}

export function describeVersions(postgres, redis) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const peers = ['graphile-worker', 'pg-boss', 'bullmq', '@dbos-inc/dbos-sdk', 'pg']
  return {
    holdfast: version,
    node: nodeVersion(),
    postgres,
    redis: redis ?? null,
    ...Object.fromEntries(peers.map((name) => [name, versionOf(name)])),
  }
}

export function readCommit() {
  const git = (...args) => execFileSync('git', args, { cwd: new URL('.', import.meta.url), encoding: 'utf8' }).trim()
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', '../src') === '' ? '' : ' with changes'
    return git('rev-parse', '--short', 'HEAD') + changed
  } catch {
    return 'unknown'
  }
}
