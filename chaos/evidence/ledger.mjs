// What happened, kept in a file outside of the database under test: the database cannot be its own witness.
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'

/** Milliseconds of the clock that all processes of a machine share and that nobody can set. */
export const now = () => Number(process.hrtime.bigint()) / 1e6

/**
 * The lines of a ledger, in the order in which things happened across all processes:
 *   asked         { call, count, key?, unique? }                 a producer is about to enqueue
 *   acknowledged  { call, job, status, key?, payload, maxAttempts?, notBefore?, backoffMs?, ends? }
 *   in_doubt      { call, error }                       the call failed, so its jobs may exist or not
 *   refused       { call, error }                       the call failed for a reason that excludes that they exist
 *   rolled_back   { call, jobs }                        the producer rolled its transaction back
 *   start         { job, attempt, fence, pid, payload, limits?, unique?, call? }
 *   finish        { job, attempt, fence, pid }          the handler did all it had to do
 *   threw         { job, attempt, fence, pid }
 *   effect        { job, fence, attempt, answer }       what the sink said to a handler: accepted, already or stale
 *   killed        { pid }    frozen { pid }             what the bench did to a process
 *   fault         { fault }  healed { fault }
 *   cancelling    { job }                               a person is about to cancel
 *   cancelled     { job, done, answer }                 what they were told; done: the cancel ended it
 *   hurried       { job, notBefore }                    a person is about to give the job another time
 *   reviving      { job }                               a person is about to replay or discard it
 *   step          { job, attempt, fence, pid, step }    the function of a step is run
 *   stepped       { job, attempt, fence, step, value }  the handler was given its result
 *   sleeping      { job, ms }  woke { job }             a handler is about to sleep; it went on
 *   signalling    { job, value }                        somebody is about to send a signal
 *   received      { job, attempt, nth, value }          a handler was given its nth signal
 *   begun         { execution, call }                   the start of an execution was acknowledged
 *   batched       { batch, call }                       a batch was acknowledged
 *   ended         { job }                               somebody has seen that it has ended
 *   acted         { action, job, actor }                any other act of a person that was acknowledged
 */
export function openLedger(path) {
  const file = openSync(path, 'a')
  return {
    path,
    /** Is on disk when it returns, so that a process killed right after it has still said it. */
    note(entry) {
      writeSync(file, `${JSON.stringify({ at: now(), ...entry })}\n`)
      fsyncSync(file)
    },
    entries: () => readLedger(path),
    close: () => closeSync(file),
  }
}

export function readLedger(path) {
  return (
    readFileSync(path, 'utf8')
      .split('\n')
      // A line without its end was being written when its process was killed.
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  )
}
