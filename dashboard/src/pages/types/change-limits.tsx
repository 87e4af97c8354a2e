import type { LimitsBody } from '../../../../src/api/admin.js'
import type { Gates } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { changedFields } from '../../parts/changed.js'
import { Check, Field, numberOrNull } from '../../parts/fields.js'
import { ForField } from '../../parts/overrides.js'
import { RateFields, rateAsTaken, rateOf } from '../../parts/rate-fields.js'

type Gate = Gates['types'][number]['gate']

/** Changes the limits of a type; they hold for the next job that a worker takes. */
export function ChangeLimits({ type, gate }: { type: string; gate: Gate }) {
  return (
    <Act
      name="Change limits"
      title={`Limits of ${type}`}
      says="A field that is empty sets no limit. What you change counts, whatever the code says, until it is released."
      needs="workers:manage"
      wide
      send={(values) => ask(`admin/job-types/${pathOf(type)}/limits`, { method: 'PATCH', body: bodyOf(values, gate) })}
      done={`The limits of ${type} are changed`}
    >
      <div className="pair">
        <Field name="max_running" label="At once" type="number" min={1} defaultValue={gate?.max_running ?? ''} />
        <Field
          name="max_running_per_key"
          label="At once per concurrency key"
          type="number"
          min={1}
          defaultValue={gate?.max_running_per_key ?? ''}
        />
        <RateFields name="rate" label="Rate" rate={gate?.rate ?? null} />
        <RateFields name="rate_per_key" label="Rate per concurrency key" rate={gate?.rate_per_key ?? null} />
      </div>
      <div className="pair">
        <Check name="fair" label="Keys take turns" checked={gate?.fair ?? false} />
        <Check name="ordered" label="One job of a key at a time, in order" checked={gate?.ordered ?? false} />
        <Check name="halt_on_dead" label="A dead job halts its key" checked={gate?.halt_on_dead ?? false} />
      </div>
      <ForField />
    </Act>
  )
}

/** What was changed and nothing else: the rest stays with whoever said it. */
function bodyOf(values: Values, gate: Gate): LimitsBody {
  const before = {
    max_running: gate?.max_running ?? null,
    max_running_per_key: gate?.max_running_per_key ?? null,
    rate: rateAsTaken(gate?.rate ?? null),
    rate_per_key: rateAsTaken(gate?.rate_per_key ?? null),
    fair: gate?.fair ?? false,
    ordered: gate?.ordered ?? false,
    halt_on_dead: gate?.halt_on_dead ?? false,
  }
  const after = {
    max_running: numberOrNull(values.max_running),
    max_running_per_key: numberOrNull(values.max_running_per_key),
    rate: rateOf(values, 'rate'),
    rate_per_key: rateOf(values, 'rate_per_key'),
    fair: values.fair === 'yes',
    ordered: values.ordered === 'yes',
    halt_on_dead: values.halt_on_dead === 'yes',
  }
  return changedFields(before, after, values)
}
