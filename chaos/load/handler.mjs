// The type that every part of the bench runs. What a job does stands in its payload; what it did goes to the ledger.
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, FatalError } from 'holdfast'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { longWork } from './long-work.mjs'

/** Short, so that a run of seconds sees several attempts; known, so that the checker can hold it against the clock. */
export const backoffMs = 200

export const backoffFor = (ms) => ({ base: ms, factor: 1, cap: ms, jitter: 50 })
const backoff = backoffFor(backoffMs)
/** For those who only enqueue. */
export const work = defineType({ type: 'work', backoff })

/**
 * A payload says, in this order: `killUntil` n (the process kills itself at attempts up to n), `ms` n (takes that long),
 * `gates` (names, one for each attempt: goes on when that gate is opened), `failUntil` n (throws at attempts up to n), `failOnce` (throws the first time), `fatal` (no retry can help), `snoozeMs`
 * n (once, at the first start of attempt 1). `checkpoint` (kept at each attempt, after the last one was read), `say` (told as
 * progress and log). `row` (a table: the job ends with a row of its own there, in one transaction). `limits`, `unique` and `ordered` (a key) are for the books: what the job falls under. What it does in steps comes
 * first, and stands in long-work.mjs.
 */
export function makeWork({ note, sink, gates = new Map(), definition = { type: 'work' } }) {
  const snoozed = new Set()
  const failed = new Set()

  async function run(payload, context) {
    const { job, fence, signal } = context
    const execution = { job: job.id, attempt: job.attempt, fence: String(fence), pid: process.pid }
    const { limits, unique, ordered, steps } = payload
    const more = { ...(limits && { limits }), ...(unique && { unique }), ...(ordered && { ordered }), ...(steps && { steps }) }
    note({ kind: 'start', ...execution, ...more, call: payload.call, payload: fingerprint(payload) })
    await sink.open(job.id, fence)
    try {
      await tell(payload, context)
      await longWork({ note, gates }, payload, context)
      await perform(payload, job, signal)
    } catch (error) {
      note({ kind: 'threw', ...execution })
      throw error
    }
    // Later attempts may each run in a process of their own, which remembers nothing.
    if (payload.snoozeMs && job.attempt === 1 && !snoozed.has(job.id)) {
      snoozed.add(job.id)
      note({ kind: 'finish', ...execution })
      return context.snooze(payload.snoozeMs)
    }
    await sink.write(job.id, fence, job.attempt)
    note({ kind: 'finish', ...execution })
    if (payload.row)
      return context.completeWith((tx) => tx.query(`insert into ${payload.row} values ($1)`, [job.id]).then(() => null))
  }

  async function tell({ checkpoint, say }, context) {
    const { job } = context
    if (checkpoint) {
      note({ kind: 'resumed', job: job.id, attempt: job.attempt, value: await context.lastCheckpoint() })
      await context.checkpoint(checkpoint)
      note({ kind: 'checkpointed', job: job.id, attempt: job.attempt, value: checkpoint })
    }
    if (say) {
      context.progress(0.5, say)
      context.log(say)
    }
  }

  async function perform(payload, job, signal) {
    if (job.attempt <= (payload.killUntil ?? 0)) {
      note({ kind: 'killed', pid: process.pid })
      process.kill(process.pid, 'SIGKILL')
    }
    if (payload.ms) await pause(payload.ms)
    const gate = gates.get(payload.gates?.[job.attempt - 1])
    if (gate) await Promise.race([gate, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))])
    if (gate) signal.throwIfAborted()
    if (job.attempt <= (payload.failUntil ?? 0)) throw new Error(`attempt ${job.attempt} fails as told`)
    if (payload.failOnce && !failed.has(job.id)) {
      failed.add(job.id)
      throw new Error('it fails the first time as told')
    }
    if (payload.fatal) throw new FatalError(payload.fatal)
  }

  // Stories make jobs fail by the dozen; the breaker is not what they are about.
  return defineType({ backoff, limits: { breaker: false }, ...definition, run })
}
