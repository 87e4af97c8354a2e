import type { SlotPoolsEvents } from '../run/slot-pools.js'
import type { Outcomes } from './outcomes.js'
import type { Report } from './report.js'

/** What happens in the slots, as the worker tells it. */
export function slotEvents(outcomes: Pick<Outcomes, 'began' | 'ended'>, report: Report, slotFree: () => void): SlotPoolsEvents {
  return {
    began: (job) => outcomes.began(job),
    ended: (job, outcome, startedAtMs) => outcomes.ended(job, outcome, startedAtMs),
    overran: (job, leaseLost) => report.overran(job, leaseLost),
    overrunning: ({ id: job, type: { type }, attempt }) => report.tell('job.overrunning', { job, type, attempt }),
    escaped: ({ id: job, type: { type }, attempt }, { message: error }) =>
      report.tell('job.escaped', { job, type, attempt, error }),
    quarantined: ({ id: job, type: { type }, attempt, crashes }) =>
      report.tell('job.quarantined', { job, type, attempt, crashes: crashes?.length ?? 0 }),
    hostCrashed: (type, reason, inARow, restMs) => report.tell('host.crashed', { type, reason, inARow, restMs }),
    slotFree,
  }
}
