// Defects in how jobs end and are brought back, and in what their groups are told of it.
import { inSql } from './patches.mjs'
import {
  cancelledAndResumed,
  deadAndReplayed,
  expired,
  lateCompletion,
  membersThatFail,
  taskThatFails,
} from './stories-of-ends.mjs'

export const defectsInEnds = [
  {
    name: 'started-after-its-last-moment',
    caughtBy: 'I8',
    story: expired,
    put: [inSql('in_time', 'd.start_by <= holdfast.now()', 'false'), inSql('past_start', 'd.look_at <= holdfast.now()', 'false')],
  },
  {
    name: 'resume-that-leaves-the-cancel',
    caughtBy: 'I3',
    story: cancelledAndResumed,
    put: inSql('resume_job', /delete from holdfast\.history as h where .*?;/g, ''),
  },
  {
    name: 'resume-without-audit',
    caughtBy: 'I17',
    story: cancelledAndResumed,
    put: inSql('resume_job', /perform holdfast\.audit_moves\([^;]*;/g, ''),
  },
  {
    name: 'replay-without-audit',
    caughtBy: 'I17',
    story: deadAndReplayed,
    put: inSql('replay_dead', /perform holdfast\.audit_moves\([^;]*;/g, ''),
  },
  {
    name: 'completed-in-a-transaction-without-fence',
    caughtBy: 'I4',
    story: lateCompletion,
    put: inSql('complete_attempt', 'and q.lease_id = p_lease', ''),
  },
  {
    name: 'failed-execution-called-completed',
    caughtBy: 'I21',
    story: taskThatFails,
    put: inSql('finish_execution', `status = case when v_failed then 'failed' else 'completed' end`, `status = 'completed'`),
  },
  {
    name: 'dead-members-not-counted',
    caughtBy: 'I21',
    story: membersThatFail,
    put: inSql('fold_batch', 'dead = b.dead + m.dead', 'dead = b.dead'),
  },
]
