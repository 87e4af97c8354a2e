import type { BatchAnswer } from '../../../../src/api/batches.js'
import type { Share } from '../../parts/shares.js'

const states = { running: 'processing', succeeded: 'completed', failed: 'dead', cancelled: 'cancelled' } as const

export function BatchStatus({ batch: { status, open, round } }: { batch: BatchAnswer }) {
  return (
    <span className="status" data-status={states[status]}>
      {status}
      {open && ', open'}
      {round > 1 && `, round ${round}`}
    </span>
  )
}

export function sharesOf({ completed, live, dead, cancelled, discarded }: BatchAnswer): readonly Share[] {
  return [
    { status: 'completed', words: 'completed', count: completed },
    { status: 'processing', words: 'live', count: live },
    { status: 'dead', words: 'dead', count: dead },
    { status: 'discarded', words: 'discarded', count: discarded },
    { status: 'cancelled', words: 'cancelled', count: cancelled },
  ]
}
