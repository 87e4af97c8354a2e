// Handlers that say what they do, inline, in a thread and in a process. Loaded by the worker, its threads and processes.
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineType } from '../../../dist/job/type.js'

async function talk({ lines = 3, wait }, { progress, log }) {
  for (let n = 1; n <= lines; n++) {
    log(`line ${n} of ${lines}`)
    progress(n / lines, `at ${n}`)
  }
  while (wait && !existsSync(wait)) await sleep(10)
}

/** Counts on from its checkpoint, one step an attempt; ends well at `to`. */
async function count({ to, crash }, { log, checkpoint, lastCheckpoint }) {
  const { done } = (await lastCheckpoint()) ?? { done: 0 }
  await checkpoint({ done: done + 1 })
  log(`did ${done + 1}`)
  if (done + 1 >= to) return
  if (crash) process.kill(process.pid, 'SIGKILL')
  throw new Error('to be continued')
}

const soon = { maxAttempts: 5, backoff: { base: '10ms', jitter: 0 }, limits: { breaker: false } }
export const types = ['inline', 'thread', 'process'].flatMap((isolation) => [
  defineType({ type: `talk_${isolation}`, isolation, ...soon, run: talk }),
  defineType({ type: `count_${isolation}`, isolation, ...soon, run: count }),
])
