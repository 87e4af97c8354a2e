import { Worker as Thread } from 'node:worker_threads'
import type { ChildSettings } from './messages.js'

export interface WatchSettings {
  parent: number
  limitMb: number | null
}

/** Makes a child process one that ends when it should and only then. */
export function guardChild({ parent, growMb }: ChildSettings): void {
  // Signals to the whole group are the worker's to answer: it drains first, and ends its children itself.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => {})
  process.on('disconnect', () => process.exit(0))
  const limitMb = growMb === null ? null : process.memoryUsage.rss() / 1_048_576 + growMb
  const watch: WatchSettings = { parent, limitMb }
  new Thread(new URL('./watch-thread.js', import.meta.url), {
    workerData: watch,
    name: 'holdfast watch',
    resourceLimits: { maxOldGenerationSizeMb: 8 },
  }).unref()
}
