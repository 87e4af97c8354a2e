// Defects in what takes several attempts or several jobs: steps, signals, workflows and batches.
import { inModule, inSql } from './patches.mjs'
import { lateStep, oneParentFirst, slowMember, stepsAndRetries, twoEndsAtOnce, twoSignals } from './stories-of-long-work.mjs'

const startedNow = `exists (select from holdfast.tasks as t where t.execution_id = p_execution.id and t.item = -1 and t.status = 'started')`

export const defectsInLongWork = [
  {
    name: 'step-result-not-looked-at',
    caughtBy: 'I20',
    story: stepsAndRetries,
    put: inModule('run/steps.js', 'if (stored)\n                return this.#complete', 'if (stored && false)\n                return this.#complete'), // biome-ignore format: what becomes what
  },
  {
    name: 'step-result-not-stored',
    caughtBy: 'I20',
    story: stepsAndRetries,
    put: inSql('save_step', /values \((p_job, p_name, [^;]*)\)\s+on conflict do nothing/g, 'select $1 where false'),
  },
  {
    name: 'sleep-that-is-over-at-once',
    caughtBy: 'I20',
    story: stepsAndRetries,
    put: inSql('wait_step', `v_now + p_ms * interval '1 millisecond'`, 'v_now'),
  },
  {
    name: 'signal-delivered-twice',
    caughtBy: 'I20',
    story: twoSignals,
    put: inSql('wait_step', 'and g.delivered is null order by', 'order by'),
  },
  {
    name: 'step-written-without-the-fence',
    caughtBy: 'I20',
    story: lateStep,
    put: inSql('attempt_of', 'and q.lease_id = p_lease', ''),
  },
  {
    name: 'task-started-after-its-first-parent',
    caughtBy: 'I21',
    story: oneParentFirst,
    put: inSql('carry_on', `t.status = 'blocked' and t.waits <= b.parents;`, `t.status = 'blocked';`),
  },
  {
    // With what would go with it: it passes over the news that somebody else reads, and counts what is started instead of keeping the count
    // in the execution's row. Either of the two makes one wait for the other.
    name: 'advance-without-the-lock',
    caughtBy: 'I21',
    story: twoEndsAtOnce,
    drainMs: 5_000,
    put: [
      inSql('fold_execution', 'where e.id = p_execution for update skip locked', 'where e.id = p_execution'),
      inSql('fold_execution', 'where c.group_id = p_execution returning', 'where c.ctid = any (array(select o.ctid from holdfast.group_changes as o where o.group_id = p_execution for update skip locked)) returning'), // biome-ignore format: what becomes what
      inSql('carry_on', 'p_execution.started + v_more = 0 then', `not ${startedNow} then`),
      inSql('carry_on', 'elsif v_more <> 0 then', 'elsif false then'),
    ],
  },
  {
    name: 'callback-enqueued-twice',
    caughtBy: 'I21',
    story: slowMember,
    put: [
      inSql('finish_batch', 'from unnest(v_due) as k', 'from unnest(v_due || v_due) as k'),
      inSql('enqueue_callback', 'p_kind, v_id);', 'p_kind, v_id) on conflict do nothing;'),
    ],
  },
  {
    name: 'batch-ended-before-its-last-member',
    caughtBy: 'I21',
    story: slowMember,
    drainMs: 5_000,
    put: [
      inSql('advance_batch', 'v_batch.live > 0 or v_batch.kept_open', 'v_batch.kept_open'),
      inSql('advance_batch', 'if v_batch.live = 0 then', 'if true then'),
    ],
  },
]
