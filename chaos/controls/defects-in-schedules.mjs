// Defects in how ticks become jobs.
import { inModule, inSql } from './patches.mjs'
import { clockAheadAndBack, clockOfTheHost, lateScheduler } from './stories-of-schedules.mjs'

const everyTickIsNew = inSql('fire_tick', `where p_kind = 'backfill' and t.job_id is null;`, ';')

export const defectsInSchedules = [
  { name: 'tick-fired-again-when-it-comes-again', caughtBy: 'I12', story: clockAheadAndBack, put: everyTickIsNew },
  {
    name: 'decision-of-a-late-scheduler-fired',
    caughtBy: 'I12',
    story: lateScheduler,
    put: [everyTickIsNew, inSql('fire_schedule', 's.revision = p_revision and s.next_at = p_next_at', 'true')],
  },
  {
    name: 'missed-ticks-forgotten',
    caughtBy: 'I12',
    story: clockAheadAndBack,
    put: inModule('schedule/due.js', 'return Math.min(missed, most(policy));', 'return 0;'),
  },
  {
    // The clock of a host that is ahead.
    name: 'ticks-fired-by-the-clock-of-the-host',
    caughtBy: 'I12',
    story: clockOfTheHost,
    put: inModule('schedule/scheduler.js', 'await this.#fire(row, now)', 'await this.#fire(row, Date.now() + 20_000)'),
  },
]
