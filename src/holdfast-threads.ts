/**
 * What every thread and process of a worker runs. All of them start from this one file, so that a program that is bundled needs one entry
 * beside its own (docs/install.md); each loads only what it was told to run.
 */
import type { ThreadProgram } from './threads.js'

const programs: Record<ThreadProgram, () => Promise<unknown>> = {
  'holdfast:heartbeat': () => import('./claim/heartbeat-thread.js'),
  'holdfast:check_module': () => import('./run/isolate/check-thread.js'),
  'holdfast:watch': () => import('./run/isolate/watch-thread.js'),
  'holdfast:supervisor': () => import('./run/isolate/supervisor-entry.js'),
  'holdfast:host_thread': () => import('./run/isolate/thread-entry.js'),
  'holdfast:host_process': () => import('./run/isolate/process-entry.js'),
}

// Somebody may have imported this file into a program of their own; there it does nothing.
void programs[process.argv[2] as ThreadProgram]?.()
