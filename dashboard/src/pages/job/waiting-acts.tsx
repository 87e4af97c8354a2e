import type { JobAnswer } from '../../../../src/api/jobs.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Field, given, PriorityField } from '../../parts/fields.js'

/** What can be done to a job that does not run. */
export function RunNow({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Run now"
      title={`Run this ${job.type} job now?`}
      says="It no longer waits for its time. Limits, pauses and breakers still hold."
      needs="jobs:cancel"
      look="first"
      posts={`jobs/${pathOf(job.id)}/run-now`}
      done="Due now"
    />
  )
}

export function Reschedule({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Reschedule"
      title={`When is this ${job.type} job to run?`}
      needs="jobs:cancel"
      send={({ delay, why }) =>
        ask(`jobs/${pathOf(job.id)}/reschedule`, { method: 'POST', body: { delay: delay ?? '', why: given(why) } })
      }
      done="Rescheduled"
    >
      <Field name="delay" label="From now, such as 30s, 2h or 3 days" required />
    </Act>
  )
}

export function Priority({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Priority"
      title="Change its priority"
      needs="workers:manage"
      send={({ priority, why }) =>
        ask(`admin/workers/jobs/${pathOf(job.id)}/priority`, {
          method: 'PATCH',
          body: { priority: Number(priority), why: given(why) },
        })
      }
      done="Priority changed"
    >
      <PriorityField first={job.priority} label="Priority, 0 to 9; the highest runs first" required />
    </Act>
  )
}

export function Bury({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Bury"
      title={`Make a dead letter of this ${job.type} job?`}
      says="It is not tried again. It waits among the dead letters until somebody replays or discards it."
      needs="dlq:manage"
      why="needed"
      posts={`jobs/${pathOf(job.id)}/bury`}
      done="Buried"
    />
  )
}
