import { setPriority } from 'node:os'
import { Worker as Thread } from 'node:worker_threads'
import { type ThreadProgram, threadsFile } from '../../threads.js'
import type { ChildSettings } from './messages.js'

export interface WatchSettings {
  parent: number
  limitMb: number | null
}

/** How much more willingly than its worker a child gives way where cores are short; the worker's event loop serves everybody. */
const nicer = 5

/** Makes a child process one that ends when it should and only then. */
export function guardChild({ parent, growMb }: ChildSettings): void {
  // Signals to the whole group are the worker's to answer: it drains first, and ends its children itself.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  process.on('disconnect', () => process.exit(0))
  try {
    setPriority(nicer)
  } catch {
    // A sandbox may forbid it. It is a courtesy, not a promise.
  }
  const limitMb = growMb === null ? null : process.memoryUsage.rss() / 1_048_576 + growMb
  const watch: WatchSettings = { parent, limitMb }
  new Thread(threadsFile(), {
    argv: ['holdfast:watch' satisfies ThreadProgram],
    workerData: watch,
    name: 'holdfast watch',
    resourceLimits: { maxOldGenerationSizeMb: 8 },
  }).unref()
}
