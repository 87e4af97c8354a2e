import type { ScheduleAnswer } from '../../../../src/api/schedules.js'
import { useGates } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { parseExactly, writeExactly } from '../../api/json.js'
import { pathOf } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { Choice, Field, given, JsonField } from '../../parts/fields.js'

const overlaps = { allow: 'make another', skip: 'skip the tick', queue: 'make one that waits', cancel: 'cancel it' }

/** Makes a schedule by hand. */
export function NewSchedule() {
  return (
    <Act
      name="New schedule"
      title="New schedule"
      needs="workers:manage"
      wide
      send={(values) => ask('admin/schedules', { method: 'POST', body: { name: values.name, ...fieldsOf(values) } })}
      done="The schedule is stored"
    >
      <Field name="name" label="Name" required />
      <Fields />
    </Act>
  )
}

export function ChangeSchedule({ schedule }: { schedule: ScheduleAnswer }) {
  return (
    <Act
      name="Change"
      title={`Change ${schedule.name}`}
      needs="workers:manage"
      wide
      send={(values) => ask(`admin/schedules/${pathOf(schedule.name)}`, { method: 'PATCH', body: fieldsOf(values) })}
      done={`${schedule.name} is changed`}
    >
      <Fields schedule={schedule} />
    </Act>
  )
}

function Fields({ schedule }: { schedule?: ScheduleAnswer }) {
  const gates = useGates()
  return (
    <>
      <div className="pair">
        <Field name="type" label="Makes jobs of the type" list="schedule-types" defaultValue={schedule?.type} required />
        <Choice name="overlap" label="While one still runs" options={overlaps} first={schedule?.overlap ?? 'allow'} />
        <Field
          name="cron"
          label="Cron"
          placeholder="30 2 * * *"
          defaultValue={schedule?.cron ?? ''}
          hint="five fields, or six with seconds first"
        />
        <Field name="every" label="or every" placeholder="15m" defaultValue={schedule?.every ?? ''} />
        <Field
          name="time_zone"
          label="Time zone"
          placeholder="Europe/Berlin"
          defaultValue={schedule?.time_zone ?? ''}
          hint="empty: UTC"
        />
        <Field
          name="jitter"
          label="Jitter"
          placeholder="0s"
          defaultValue={schedule?.jitter ?? ''}
          hint="up to so much after the tick"
        />
      </div>
      <datalist id="schedule-types">
        {gates.data?.types.map(({ type }) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <JsonField name="payload" label="Payload" first={schedule ? writeExactly(schedule.payload, '  ') : '{}'} rows={5} />
    </>
  )
}

function fieldsOf({ type, payload, overlap, cron, every, time_zone, jitter, why }: Values) {
  return {
    type,
    payload: parseExactly(payload ?? '{}'),
    overlap,
    cron: given(cron),
    every: given(every),
    time_zone: given(time_zone),
    jitter: given(jitter),
    why: given(why),
  }
}
