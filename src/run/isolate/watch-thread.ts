/**
 * Watches the process it lives in, from a thread of its own because the handler may never let go of the event loop:
 * ends the process when its worker has died (the job runs elsewhere by then), and when it takes more memory than it may.
 * Buffers and native memory lie outside of any heap limit; only a look at the whole process sees them.
 */
import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import type { WatchSettings } from './guard-child.js'
import { type LastWords, lastWordsFd } from './messages.js'

const { parent, limitMb } = workerData as WatchSettings
const everyMs = 100

function look(): void {
  if (limitMb !== null) {
    const usedMb = process.memoryUsage.rss() / 1_048_576
    if (usedMb > limitMb) return end({ kind: 'memory', usedMb: Math.round(usedMb) })
  }
  if (!parentLives()) end()
}

function parentLives(): boolean {
  if (process.platform !== 'win32') return process.ppid === parent
  try {
    return process.kill(parent, 0)
  } catch {
    return false
  }
}

function end(words?: LastWords): void {
  try {
    if (words) writeSync(lastWordsFd, JSON.stringify(words))
  } finally {
    process.kill(process.pid, 'SIGKILL')
  }
}

setInterval(look, everyMs)
