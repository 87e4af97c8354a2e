import type { ranAnswer, ScheduleAnswer } from '../../../../src/api/schedules.js'
import { ask } from '../../api/ask.js'
import { type Answered, pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { given } from '../../parts/fields.js'
import { ForField } from '../../parts/overrides.js'

const post = (name: string, verb: string) => (values: { why?: string }) =>
  ask(`admin/schedules/${pathOf(name)}/${verb}`, { method: 'POST', body: { why: given(values.why) } })

export function PauseSchedule({ schedule: { name, status } }: { schedule: ScheduleAnswer }) {
  if (status === 'ended') return null
  return status === 'paused' ? (
    <Act
      name="Resume"
      title={`Let ${name} tick again?`}
      says="It makes jobs from now on. What lay in the pause is not made up; a backfill can."
      needs="workers:manage"
      look="first"
      send={post(name, 'resume')}
      done={`${name} ticks again`}
    />
  ) : (
    <Act
      name="Pause"
      title={`Pause ${name}?`}
      says="It makes no jobs until somebody resumes it."
      needs="workers:manage"
      posts={`admin/schedules/${pathOf(name)}/pause`}
      done={`${name} is paused`}
    >
      <ForField />
    </Act>
  )
}

export function RunNow({ name }: { name: string }) {
  return (
    <Act
      name="Run now"
      title={`Make a job of ${name} now?`}
      says="One job more; its ticks stay as they are."
      needs="workers:manage"
      send={post(name, 'run')}
      done={(answer) => ranWords(answer as Answered<typeof ranAnswer>)}
    />
  )
}

const ranWords = ({ outcome, in_the_way }: Answered<typeof ranAnswer>) =>
  outcome === 'created' ? 'A job is made' : `No job was made at once: ${outcome}, because job ${in_the_way ?? ''} is not done yet`

/** Takes back what somebody changed by hand about a schedule that a program defines. */
export function Reset({ name }: { name: string }) {
  return (
    <Act
      name="Reset to the code"
      title={`Make ${name} as its program defines it?`}
      needs="workers:manage"
      send={post(name, 'reset')}
      done={`${name} is as in the code`}
    />
  )
}

export function DeleteSchedule({ name }: { name: string }) {
  return (
    <Act
      name="Delete"
      title={`Delete the schedule ${name}?`}
      says="It makes no more jobs. Those it made stay."
      needs="workers:manage"
      look="grave"
      typed={name}
      send={async ({ why }) => {
        await ask(`admin/schedules/${pathOf(name)}`, { method: 'DELETE', query: { why: given(why) } })
        window.location.hash = '#/schedules'
      }}
      done={`${name} is deleted`}
    />
  )
}
