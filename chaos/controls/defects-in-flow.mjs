// Defects in the functions that decide who may run now.
import { inSql } from './patches.mjs'
import { cancelWhileRunning, narrowLane, oneMore, twoAtOnce, twoInThreeSeconds, uniqueKey } from './stories-of-flow.mjs'

const freed = 'delete from holdfast.admissions as h where h.job_id = any (p_passed)'
const another =
  'select o.job_id from holdfast.admissions as o where o.lease_id is not null and o.job_id <> all (p_passed) limit 1'
const stands = 'case when v_first_is = any (v_states) then v_first when'

export const defectsInFlow = [
  {
    name: 'slot-released-twice',
    caughtBy: 'I11',
    story: twoAtOnce,
    put: inSql('free_slots', freed, `${freed} or h.job_id = (${another})`),
  },
  {
    name: 'slot-never-released',
    caughtBy: 'I2',
    story: twoAtOnce,
    drainMs: 8_000,
    put: inSql('free_slots', freed, `${freed} and false`),
  },
  {
    name: 'lane-slot-never-released',
    caughtBy: 'I2',
    story: narrowLane,
    drainMs: 8_000,
    put: inSql('free_slots', 'where s.job_id = any (p_jobs)', 'where false'),
  },
  {
    name: 'lane-slots-not-counted',
    caughtBy: 'I11',
    story: narrowLane,
    put: inSql('claim_jobs', 'v_left := least(v_left, v_slots', 'v_left := least(v_left, 10 + v_slots'),
  },
  {
    name: 'rate-counted-at-the-end',
    caughtBy: 'I11',
    story: twoInThreeSeconds,
    put: [
      inSql('count_starts', 'where g.rate_count is not null or g.key_rate_count is not null', 'where false'),
      inSql(
        'free_slots',
        `${freed} returning h.type_id, h.concurrency_key`,
        `${freed} returning h.type_id, h.concurrency_key
         ), counted as (
           insert into holdfast.starts (type_id, concurrency_key, at) select f.type_id, f.concurrency_key, holdfast.now() from freed as f`,
      ),
    ],
  },
  {
    name: 'cancel-overwritten-by-completion',
    caughtBy: 'I13',
    story: cancelWhileRunning,
    put: inSql(
      'cancel_jobs',
      'take_out(v_live)',
      'take_out(array(select l.job_id from holdfast.live as l where l.job_id = any (v_live) and l.lease_id is null))',
    ),
  },
  {
    name: 'act-without-audit',
    caughtBy: 'I17',
    story: cancelWhileRunning,
    put: inSql('cancel_jobs', /perform holdfast\.audit_moves\(.*?;/g, ''),
  },
  {
    name: 'slot-released-at-the-cancel',
    caughtBy: 'I11',
    story: cancelWhileRunning,
    put: inSql(
      'cancel_jobs',
      'perform holdfast.take_out(v_live);',
      'perform holdfast.take_out(v_live); perform holdfast.free_slots(v_live, v_live);',
    ),
  },
  {
    name: 'slot-kept-after-a-cancel',
    caughtBy: 'I2',
    story: cancelWhileRunning,
    drainMs: 10_000,
    put: inSql('settle_jobs', /free_slots\((\w+) \|\| v_cancelled, (\w+) \|\| v_cancelled\)/g, 'free_slots($1, $2)'),
  },
  {
    name: 'unique-key-never-freed',
    caughtBy: 'I10',
    story: uniqueKey,
    put: inSql('resolve_conflict', stands, 'case when true then v_first when'),
  },
  {
    name: 'unique-key-freed-too-early',
    caughtBy: 'I10',
    story: uniqueKey,
    put: inSql('resolve_conflict', stands, `case when v_first_is = any (array_remove(v_states, 'processing')) then v_first when`),
  },
  {
    name: 'follower-never-started',
    caughtBy: 'I2',
    story: oneMore,
    drainMs: 8_000,
    put: inSql('start_followers', `if v_jobs = '{}' then`, 'if true then'),
  },
]
