// Defects that were in this queue once and that no other net had found. The fuzz must find each of them when its mend is taken out.
import { inSql } from '../controls/patches.mjs'

const withinMs = 4 * 60_000

/** `about`: what its sequences are about, so that a control takes a minute; `says`: how the fuzz must say it. */
export const controls = [
  {
    // A lane that is given slots counted jobs whose end was not yet committed: nobody ever gave those slots back.
    name: 'fuzz/control/lane-slots-leak',
    about: ['enqueueing', 'passing', 'laneChanges', 'workers'],
    narrow: true,
    busy: true,
    says: /a slot of a lane is held by no job|lane_slot_left/,
    patches: [
      inSql('put_lane', 'perform holdfast.be_alone(null, p_before.id);', 'null;'),
      inSql('put_lane', 'p_before.slots is null and p_after.slots is not null', 'p_after.slots is not null'),
    ],
  },
  {
    // The probe of an open breaker was the first job in line, of whatever key.
    name: 'fuzz/control/probe-of-a-paused-key',
    about: ['enqueueing', 'passing', 'gates'],
    narrow: true,
    says: /although key \w+ is paused|with key \w+ ran at once/,
    patches: [inSql('take_through_gate', 'if v_gate.keyed then', 'if v_gate.keyed and not v_room.probe then')],
  },
  {
    // A job that was replaced before its gate kept its old key there.
    name: 'fuzz/control/replaced-under-another-key',
    about: ['enqueueing', 'passing', 'gates', 'uniqueness', 'laneChanges'],
    narrow: true,
    says: /under another key|key_differs|with key \w+ ran at once/,
    patches: [inSql('follow_key', 'where q.job_id = p_job and q.pass > 0', 'where false')],
  },
  {
    // One more was asked for while the job in front had been replayed and the one behind it ran: a loop in the database without an end.
    name: 'fuzz/control/one-more-spins',
    about: ['passing', 'uniqueness', 'deadLetters'],
    narrow: true,
    busy: false,
    says: /had no answer/,
    patches: [
      inSql('resolve_conflict', /case p_unique\.policy when 'one_more' then array_remove\(p_unique\.states, 'processing'\) else p_unique\.states end/g, 'p_unique.states'),
      inSql('resolve_conflict', `v_target is null and (v_first_is = 'processing' or v_next_is = 'processing')`, `v_next_is is null and v_first_is = 'processing'`),
      inSql('resolve_conflict', 'for v_look in 1..10 loop', 'for v_look in 1..2000000000 loop'),
      inSql('resolve_conflict', 'elsif v_look = 10 then', 'elsif false then'),
      inSql('stand_behind_keys', 'v_lead := holdfast.retake_unique(v_job);', 'v_lead := null;'),
    ], // biome-ignore format: what becomes what
  },
].map((control) => ({ withinMs, ...control }))
