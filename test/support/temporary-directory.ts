import { spawnSync } from 'node:child_process'
import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from './machine.js'

const memory = '/dev/shm'
const roomBytes = 4 * 1024 ** 3
const named = /^holdfast-tests-(\d+)-/

/**
 * Makes the directory in which a run of the suite keeps everything temporary, and lets TMPDIR name it, for the tests and the processes
 * that they start. It lies in memory where there is room: a run makes and drops more than a thousand databases of 700 files each, which
 * on a disk can cost ten times the processor time that it costs in memory. Gone with what is left in it when the run ends.
 */
export function makeTemporaryDirectory(): { remove(): void } {
  const base = memoryCanBeUsed() ? memory : tmpdir()
  removeLeftovers(base)
  const directory = mkdtempSync(join(base, `holdfast-tests-${process.pid}-`))
  // As the system's own: tests start programs as other users.
  chmodSync(directory, 0o1777)
  process.env.TMPDIR = directory
  return { remove: () => removeAll(directory) }
}

/** Whether a run may keep its files in memory: there is room, and programs can be run from there. */
function memoryCanBeUsed(): boolean {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return Math.min(bavail * bsize, freemem()) >= roomBytes && runsPrograms(memory)
  } catch {
    return false
  }
}

/** Many containers mount /dev/shm so that nothing there can be executed. */
function runsPrograms(base: string): boolean {
  const directory = mkdtempSync(join(base, `holdfast-tests-${process.pid}-`))
  try {
    const program = join(directory, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
    return spawnSync(program).status === 0
  } finally {
    removeAll(directory)
  }
}

/** What runs left that were killed; their process id is in the name. */
function removeLeftovers(base: string): void {
  for (const name of readdirSync(base)) {
    const pid = Number(named.exec(name)?.[1])
    try {
      if (pid && !isAlive(pid)) removeAll(join(base, name))
    } catch {
      // It is another user's, whose next run removes it.
    }
  }
}

function removeAll(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
