import type { ScheduleAnswer } from '../../../../src/api/schedules.js'

const states: Readonly<Record<ScheduleAnswer['status'], string>> = {
  active: 'completed',
  paused: 'failed',
  ended: 'cancelled',
  failing: 'dead',
}

export function ScheduleStatus({ status }: { status: ScheduleAnswer['status'] }) {
  return (
    <span className="status" data-status={states[status]}>
      {status}
    </span>
  )
}
