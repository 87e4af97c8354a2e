/**
 * A worker process for tests. Its one argument is JSON: { database, ledger, types, workers, worker, broken }, or `members`, their
 * addresses by their names, in place of the database. One that is `broken` fails at two of three attempts, as a bad build would. What a job does stands in its
 * payload, in this order:
 *   killUntil n   the process kills itself at attempts up to n
 *   extend time   extends its lease
 *   hold path     goes on when that file exists, from attempt `holdFrom` on; with `heed`, throws when the signal fires
 *   ms n          sleeps
 *   busyMs n      blocks the event loop; busyUntil n does so only up to that attempt
 *   failUntil n   throws at attempts up to n
 *   fatal text    throws a FatalError
 *   failWhile path  throws while that file exists
 *   stop {for, what, once}  asks for its type or key to be stopped that long, unless the file `once` says that it was asked
 *   returns {…}   returns that, with the number of its attempt
 *   dieReturningUntil n  at attempts up to n the process kills itself when the handler has returned and nothing was written
 * Events of the worker go to standard output, one JSON line each.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, FatalError, Holdfast, Holdfasts } from 'holdfast'
import { startWorker, startWorkers } from 'holdfast/worker'
import { openLedgerFile } from './ledger-writer.mjs'

const {
  database,
  members,
  ledger,
  types = [{ type: 'work' }],
  workers = 1,
  worker: options = {},
  broken = false,
} = JSON.parse(process.argv[2])
const note = openLedgerFile(ledger)
/** One clock for all processes of a machine. */
const now = () => performance.timeOrigin + performance.now()
const say = (event, fields = {}) => process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`)

async function run(payload, context) {
  const { job, fence, signal } = context
  const execution = {
    job: job.id,
    type: job.type,
    key: payload.key,
    attempt: job.attempt,
    fence: String(fence),
    pid: process.pid,
  }
  note({ kind: 'start', ...execution, at: now() })
  signal.addEventListener('abort', () => note({ kind: 'aborted', ...execution, reason: signal.reason?.name }), { once: true })
  let answer
  try {
    answer = await perform(payload, context)
  } catch (error) {
    note({ kind: 'threw', ...execution, at: now() })
    throw error
  }
  note({ kind: 'finish', ...execution, at: now() })
  return answer
}

let performed = 0

async function perform(payload, { job, signal, extendLease, stop }) {
  if (broken && ++performed % 3 !== 0) throw new Error('fails as this build does')
  if (job.attempt <= (payload.killUntil ?? 0)) process.kill(process.pid, 'SIGKILL')
  if (payload.extend) await extendLease(payload.extend)
  while (payload.hold && job.attempt >= (payload.holdFrom ?? 1) && !existsSync(payload.hold)) {
    if (payload.heed) signal.throwIfAborted()
    await pause(10)
  }
  if (payload.ms) await pause(payload.ms)
  if (payload.busyMs && job.attempt <= (payload.busyUntil ?? 20)) {
    // As a loop would, but it leaves the processor to the other tests.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, payload.busyMs)
  }
  if (job.attempt <= (payload.failUntil ?? 0)) throw new Error(`attempt ${job.attempt} fails as told`)
  if (payload.failWhile && existsSync(payload.failWhile)) throw new Error('fails as told')
  if (payload.fatal) throw new FatalError(payload.fatal)
  if (payload.stop && !existsSync(payload.stop.once)) {
    writeFileSync(payload.stop.once, '')
    return stop(payload.stop.for, payload.stop.what)
  }
  if (payload.returns === undefined) return undefined
  if (job.attempt <= (payload.dieReturningUntil ?? 0)) process.nextTick(() => process.kill(process.pid, 'SIGKILL'))
  return { ...payload.returns, attempt: job.attempt }
}

const holdfast = members ? new Holdfasts({ members }) : new Holdfast({ connectionString: database })
const start = members ? startWorkers : startWorker
// Tests make jobs fail by the dozen; those about the breaker say so.
const defined = types.map((type) => defineType({ limits: { breaker: false }, ...type, run }))
const told = ['job.completed', 'job.failed', 'job.dead', 'job.handed_back', 'settle.late', 'job.overran', 'lease.lost', 'lease.rescued', 'duty.failed', 'database.away', 'database.back'] // biome-ignore format: one list
for (let n = 0; n < workers; n++) {
  const worker = await start(holdfast, defined, { lease: '2s', unsafe: true, handleSignals: true, ...options })
  for (const name of told) worker.events.on(name, (fields) => say(name, fields))
}
// After the worker's own listener: who hears this knows that the worker has taken the signal.
process.on('SIGTERM', () => say('told to stop'))
say('ready')
