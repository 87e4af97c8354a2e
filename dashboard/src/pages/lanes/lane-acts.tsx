import type { LaneBody } from '../../../../src/api/admin.js'
import type { Lane } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { Field, given, numberOrNull } from '../../parts/fields.js'
import { ForField } from '../../parts/overrides.js'
import { asDuration } from '../../parts/time.js'

/** Drains, resumes and tunes a lane. Workers follow at their next look. */
export function LaneActs({ lane }: { lane: Lane }) {
  const change = (body: LaneBody) => ask(`admin/workers/lanes/${pathOf(lane.name)}`, { method: 'PATCH', body })
  const lasting = (lasts: string | undefined) => (given(lasts) === undefined ? {} : { for: given(lasts) as string })
  const reason = (why: string | undefined) => (given(why) === undefined ? {} : { why: given(why) as string })
  return (
    <>
      {lane.enabled ? (
        <Act
          name="Drain"
          title={`Drain the lane ${lane.name}?`}
          says="Its jobs wait until somebody resumes it. What runs is finished."
          needs="workers:manage"
          send={({ why, for: lasts }) => change({ enabled: false, ...reason(why), ...lasting(lasts) })}
          done={`${lane.name} is drained`}
        >
          <ForField />
        </Act>
      ) : (
        <Act
          name="Resume"
          title={`Resume the lane ${lane.name}?`}
          says="Workers take its jobs again."
          needs="workers:manage"
          look="first"
          send={({ why }) => change({ enabled: true, ...reason(why) })}
          done={`${lane.name} runs again`}
        />
      )}
      <Act
        name="Tune"
        title={`Tune the lane ${lane.name}`}
        needs="workers:manage"
        send={(values) => change({ ...changedOf(values, lane), ...reason(values.why), ...lasting(values.for) })}
        done={`${lane.name} is changed`}
      >
        <Settings lane={lane} />
        <ForField />
      </Act>
    </>
  )
}

/** A lane that is not there yet. */
export function NewLane() {
  return (
    <Act
      name="New lane"
      title="A new lane"
      says="Jobs of its types take their slots here, and no others."
      needs="workers:manage"
      send={({ name = '', types = '', why, ...values }) =>
        ask(`admin/workers/lanes/${pathOf(name)}`, {
          method: 'PATCH',
          body: { ...fieldsOf(values), create: true, types: types.split(/[\s,]+/).filter(Boolean), why: given(why) },
        })
      }
      done="The lane is there"
    >
      <div className="pair">
        <Field
          name="name"
          label="Name"
          hint="small letters, digits, _ and -"
          pattern="[a-z][a-z0-9_\-]*"
          maxLength={63}
          required
        />
        <Field name="types" label="Job types to move into it" hint="separated by commas; may be empty" />
      </div>
      <Settings lane={undefined} />
    </Act>
  )
}

function Settings({ lane }: { lane: Lane | undefined }) {
  return (
    <div className="pair">
      <Field
        name="slots"
        label="Slots"
        hint="how many jobs run at once; empty: no limit"
        type="number"
        min={1}
        max={10_000}
        defaultValue={lane?.slots ?? ''}
      />
      <Field
        name="worker_slots"
        label="Slots of one worker"
        hint="empty: no limit"
        type="number"
        min={1}
        max={10_000}
        defaultValue={lane?.worker_slots ?? ''}
      />
      <Field
        name="poll"
        label="Polls every"
        hint="such as 200ms or 5s"
        defaultValue={asDuration(lane?.poll_ms ?? 2_000)}
        required
      />
      <Field
        name="lease"
        label="Lease"
        hint="60s to 1h; empty: of the worker"
        defaultValue={lane?.lease_ms == null ? '' : asDuration(lane.lease_ms)}
      />
      <Field
        name="ageing"
        label="Ageing"
        hint="after so long a job counts one priority more"
        defaultValue={asDuration(lane?.ageing_ms ?? 60_000)}
        required
      />
    </div>
  )
}

function fieldsOf({ slots, worker_slots, poll = '', lease, ageing = '' }: Values): LaneBody {
  return { slots: numberOrNull(slots), worker_slots: numberOrNull(worker_slots), poll, lease: given(lease) ?? null, ageing }
}

/** What was changed and nothing else: the rest stays with whoever said it. */
function changedOf(values: Values, lane: Lane): LaneBody {
  const before: LaneBody = {
    slots: lane.slots,
    worker_slots: lane.worker_slots,
    poll: asDuration(lane.poll_ms),
    lease: lane.lease_ms === null ? null : asDuration(lane.lease_ms),
    ageing: asDuration(lane.ageing_ms),
  }
  const after = Object.entries(fieldsOf(values))
  return Object.fromEntries(after.filter(([name, value]) => value !== before[name as keyof LaneBody]))
}
