// Defects in the functions of the database.
import { inSql } from './patches.mjs'
import { committedLate, lateResult, lateRetry, longJob, oldDay, oldLease, poison, quiet, sameKey, shutdown } from './stories.mjs'

export const defectsInSql = [
  {
    name: 'settle-without-fence',
    caughtBy: 'I4',
    story: lateResult,
    put: ['end_completed', 'end_moved'].map((ending) => inSql(ending, /q\.lease_id = \w+\.lease_id/g, 'true')),
  },
  {
    name: 'rescue-by-id-only',
    caughtBy: 'I6',
    story: oldLease,
    put: inSql('end_leases', 'and q.lease_id = h.id', ''),
  },
  {
    name: 'attempt-counted-at-failure-only',
    caughtBy: 'I8',
    story: poison,
    put: inSql('end_leases', 'j.attempt + 1', 'j.attempt'),
  },
  {
    name: 'rescue-that-forgets-the-dead',
    caughtBy: 'I1',
    story: poison,
    put: inSql('end_leases', 'where j.dead', 'where false'),
  },
  {
    name: 'claim-of-claimed-jobs',
    caughtBy: 'I5',
    story: longJob,
    put: inSql('claim_jobs', 'and q.lease_id is null', ''),
  },
  {
    name: 'claim-without-a-lease',
    caughtBy: 'I2',
    story: longJob,
    drainMs: 10_000,
    put: inSql('claim_jobs', /(insert into holdfast\.leases.*?from claimed as c)/gs, '$1 having false'),
  },
  {
    name: 'front-that-counts-at-the-head',
    caughtBy: 'I2',
    story: committedLate,
    drainMs: 10_000,
    put: inSql('from_front', 'and p_after[v_priority + 1] > 0', ''),
  },
  {
    name: 'retry-that-loses-the-job',
    caughtBy: 'I1',
    story: quiet,
    put: inSql('end_moved', `e.move in ('retry', 'snooze', 'block')`, `e.move in ('snooze', 'block')`),
  },
  {
    name: 'dead-letter-not-kept',
    caughtBy: 'I1',
    story: quiet,
    put: inSql('end_moved', `e.move in ('die', 'exhaust', 'poison')`, `e.move = 'exhaust'`),
  },
  {
    name: 'history-of-successes-only',
    caughtBy: 'I5',
    story: quiet,
    put: inSql('end_moved', 'e.started_ago is not null', `e.move = 'complete'`),
  },
  {
    name: 'backoff-ignored',
    caughtBy: 'I15',
    story: lateRetry,
    put: inSql('end_moved', 'e.delay * v_ms', '0 * v_ms'),
  },
  {
    name: 'hand-back-that-spends-an-attempt',
    caughtBy: 'I5',
    story: shutdown,
    put: inSql('end_moved', 'set lease_id = null', 'set attempt = q.attempt + 1, lease_id = null'),
  },
  {
    name: 'promote-that-copies',
    caughtBy: 'I3',
    story: quiet,
    drainMs: 5_000,
    put: inSql('promote_free', /delete (from holdfast\.waiting as w where .*) returning (.*)/g, 'select $2 $1'),
  },
  {
    name: 'key-that-is-not-waited-for',
    caughtBy: 'I10',
    story: sameKey,
    put: inSql('take_keys', 'if job_id is not null then', 'if false then'),
  },
  {
    name: 'payload-kept-as-jsonb',
    caughtBy: 'I16',
    story: quiet,
    put: inSql('enqueue_jobs', 'payload::json, p_owner', 'payload::jsonb::json, p_owner'),
  },
  {
    // A job without a body ends dead where everybody sees it, so it is not lost; its payload is.
    name: 'retention-of-live-jobs',
    caughtBy: 'I16',
    story: oldDay,
    put: inSql('jobs_still_needed', 'from holdfast.live where', `from holdfast.live where place <> 'queue' and`),
  },
]
