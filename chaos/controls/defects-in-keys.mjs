// Defects in what is counted for each key, in pauses, and in what may start behind another job.
import { inSql } from './patches.mjs'
import { oneMore } from './stories-of-flow.mjs'
import { keysInThreeSeconds, oneOfEachKey, pausedType } from './stories-of-keys.mjs'

export const defectsInKeys = [
  {
    name: 'running-jobs-of-a-key-not-counted',
    caughtBy: 'I11',
    story: oneOfEachKey,
    put: inSql('take_by_turn', 'if p_gate.key_max_running is not null then', 'if false then'),
  },
  {
    name: 'rate-of-a-key-not-counted',
    caughtBy: 'I11',
    story: keysInThreeSeconds,
    put: inSql('take_of_keys', 'and s.at > p_now - v_rate_window', 'and false'),
  },
  {
    name: 'pause-not-asked',
    caughtBy: 'I11',
    story: pausedType,
    put: inSql('gate_room', 'p_gate.paused_at is not null', 'false'),
  },
  {
    name: 'follower-started-beside-its-leader',
    caughtBy: 'I10',
    story: oneMore,
    put: [
      inSql('check_leader', 'if v_place is null then', 'if true then'),
      inSql('start_followers', 'and not exists (select from holdfast.whereabouts(f.follows))', ''),
    ],
  },
]
