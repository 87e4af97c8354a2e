import type { BreakerBody } from '../../../../src/api/admin.js'
import type { Gates } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { given } from '../../parts/fields.js'

type Gate = Gates['types'][number]['gate']

interface Step {
  readonly action: BreakerBody['action']
  readonly name: string
  readonly title: (type: string) => string
  readonly says: string
}

/** What an operator can do to a breaker, by where it stands. */
function stepsFrom(gate: Gate): readonly Step[] {
  const { open, held_by } = gate?.breaker ?? { open: false, held_by: 'nobody' }
  if (held_by === 'operator') {
    const title = (type: string) => `Release the breaker of ${type}?`
    return [
      { action: 'release', name: 'Release the breaker', title, says: 'It opens and closes by itself again, by what it counts.' },
    ]
  }
  if (open) {
    return [
      {
        action: 'close',
        name: 'Close the breaker',
        title: (type) => `Close the breaker of ${type}?`,
        says: 'Jobs run at once. If they go on failing it opens again.',
      },
      {
        action: 'hold_closed',
        name: 'Hold it closed',
        title: (type) => `Hold the breaker of ${type} closed?`,
        says: 'Jobs run whatever fails, until somebody releases it.',
      },
    ]
  }
  return [
    {
      action: 'open',
      name: 'Open the breaker',
      title: (type) => `Open the breaker of ${type}?`,
      says: 'Nothing runs but a probe now and then; it closes by itself when one succeeds.',
    },
    {
      action: 'hold_open',
      name: 'Hold it open',
      title: (type) => `Hold the breaker of ${type} open?`,
      says: 'Nothing runs, not even a probe, until somebody releases it.',
    },
  ]
}

export function BreakerActs({ type, gate }: { type: string; gate: Gate }) {
  return stepsFrom(gate).map(({ action, name, title, says }) => (
    <Act
      key={action}
      name={name}
      title={title(type)}
      says={says}
      needs="workers:manage"
      send={({ why }) => ask(`admin/job-types/${pathOf(type)}/breaker`, { method: 'POST', body: { action, why: given(why) } })}
      done={`Done: ${name.toLowerCase()}`}
    />
  ))
}
