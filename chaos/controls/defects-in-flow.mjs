// Defects in the functions that decide who may run now.
import { inSql } from './patches.mjs'
import {
  cancelWhileRunning,
  limitedWhileBusy,
  narrowLane,
  oneAfterTheOther,
  oneMore,
  twoAtOnce,
  twoInThreeSeconds,
  twoShareADependency,
  twoShareARate,
  uniqueKey,
} from './stories-of-flow.mjs'

const stands = 'case when v_first_is = any (v_states) then v_first when'

export const defectsInFlow = [
  {
    name: 'slot-counted-short',
    caughtBy: 'I11',
    story: twoAtOnce,
    put: inSql('gate_taken', 'select coalesce(sum(', 'select -1 + coalesce(sum('),
  },
  {
    name: 'running-jobs-not-counted',
    caughtBy: 'I11',
    story: twoAtOnce,
    put: inSql('gate_running', 'q.lease_id = any (v_leases)', 'false'),
  },
  {
    name: 'slot-never-released',
    caughtBy: 'I2',
    story: twoAtOnce,
    drainMs: 8_000,
    put: inSql('gate_room', 'if slots < room then', 'if false then'),
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
    name: 'rate-not-counted',
    caughtBy: 'I11',
    story: twoInThreeSeconds,
    put: inSql('claim_jobs', 's.key, holdfast.now(), s.jobs', `s.key, holdfast.now() - interval '1 hour', s.jobs`),
  },
  {
    name: 'dependency-not-asked',
    caughtBy: 'I11',
    story: twoShareADependency,
    put: inSql('gate_room', `if p_gate.uses <> '{}' then`, 'if false then'),
  },
  {
    name: 'dependency-counts-one-type',
    caughtBy: 'I11',
    story: twoShareADependency,
    put: inSql('gate_room', 'holdfast.users_of(v_shared.type_id));', 'array[p_gate.type_id]);'),
  },
  {
    name: 'dependency-rate-not-counted',
    caughtBy: 'I11',
    story: twoShareARate,
    put: inSql('take_through_gate', 'array_fill(cardinality(rows), array', 'array_fill(0, array'),
  },
  {
    name: 'dependency-forgets-what-runs',
    caughtBy: 'I11',
    story: limitedWhileBusy,
    put: inSql('users_limited', 'select holdfast.count_running(u.id) from unnest(p_users) as u (id);', ''),
  },
  {
    name: 'ordered-key-runs-at-once',
    caughtBy: 'I22',
    story: oneAfterTheOther,
    put: inSql('take_through_gate', 'if v_gate.ordered then', 'if false then'),
  },
  {
    name: 'ordered-key-passes-who-waits',
    caughtBy: 'I22',
    story: oneAfterTheOther,
    put: inSql('take_of_keys', `where not p_gate.ordered or k.key = '' or`, `where not p_gate.ordered or k.key = '' or true or`),
  },
  {
    name: 'ordered-key-by-priority',
    caughtBy: 'I22',
    story: oneAfterTheOther,
    put: inSql('gate_seq', 'case when p_ordered and p_key is not null then', 'case when false then'),
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
    put: inSql('gate_running', 'where c.type_id = p_type', 'where false'),
  },
  {
    name: 'slot-kept-after-a-cancel',
    caughtBy: 'I2',
    story: cancelWhileRunning,
    drainMs: 10_000,
    put: [
      inSql('end_cancelled', 'c.lease_id = s.lease_id returning', 'c.lease_id = s.lease_id and false returning'),
      inSql('orphaned_jobs', 'for update skip locked', 'and false for update skip locked'),
    ],
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
