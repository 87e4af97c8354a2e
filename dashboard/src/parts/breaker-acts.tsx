import type { BreakerAnswer, BreakerBody } from '../../../src/api/admin.js'
import { ask } from '../api/ask.js'
import { Act } from './act.js'
import { given } from './fields.js'

interface Step {
  readonly action: BreakerBody['action']
  readonly name: string
  readonly title: (of: string) => string
  readonly says: string
}

/** What an operator can do to a breaker, by where it stands. */
function stepsFrom({ open, held_by }: Pick<BreakerAnswer, 'open' | 'held_by'>): readonly Step[] {
  if (held_by === 'operator') {
    const title = (of: string) => `Release the breaker of ${of}?`
    return [
      { action: 'release', name: 'Release the breaker', title, says: 'It opens and closes by itself again, by what it counts.' },
    ]
  }
  if (open) {
    return [
      {
        action: 'close',
        name: 'Close the breaker',
        title: (of) => `Close the breaker of ${of}?`,
        says: 'Jobs run at once. If they go on failing it opens again.',
      },
      {
        action: 'hold_closed',
        name: 'Hold it closed',
        title: (of) => `Hold the breaker of ${of} closed?`,
        says: 'Jobs run whatever fails, until somebody releases it.',
      },
    ]
  }
  return [
    {
      action: 'open',
      name: 'Open the breaker',
      title: (of) => `Open the breaker of ${of}?`,
      says: 'Nothing runs but a probe now and then; it closes by itself when one succeeds.',
    },
    {
      action: 'hold_open',
      name: 'Hold it open',
      title: (of) => `Hold the breaker of ${of} open?`,
      says: 'Nothing runs, not even a probe, until somebody releases it.',
    },
  ]
}

interface BreakerActsProps {
  /** The type or dependency. */
  readonly of: string
  /** Undefined: it has never had anything to count. */
  readonly breaker: BreakerAnswer | undefined
  /** Where a POST acts on it. */
  readonly path: string
}

export function BreakerActs({ of, breaker, path }: BreakerActsProps) {
  return stepsFrom(breaker ?? { open: false, held_by: 'nobody' }).map(({ action, name, title, says }) => (
    <Act
      key={action}
      name={name}
      title={title(of)}
      says={says}
      needs="workers:manage"
      send={({ why }) => ask(path, { method: 'POST', body: { action, why: given(why) } })}
      done={`Done: ${name.toLowerCase()}`}
    />
  ))
}
