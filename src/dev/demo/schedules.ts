import { defineSchedule, type Schedule } from '../../schedule/spec.js'
import { bulkExport, cleanup, report } from './types.js'

/** What the demo makes by the clock, in a file of its own, because it loads what reads cron expressions; one job at a time, so that none pile up where the demo is switched off later. */
export const demoSchedules: readonly Schedule[] = [
  defineSchedule({ name: 'demo-every-minute', type: cleanup, cron: '* * * * *', overlap: 'skip' }),
  defineSchedule({
    name: 'demo-nightly',
    type: report,
    payload: { month: 'July' },
    cron: '30 2 * * *',
    timeZone: 'Europe/Berlin',
    overlap: 'skip',
  }),
  defineSchedule({ name: 'demo-mondays', type: bulkExport, payload: { table: 'orders' }, cron: '0 7 * * MON', overlap: 'skip' }),
]
