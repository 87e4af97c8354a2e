import type { Gates } from '../../api/answers.js'

type Gate = Gates['types'][number]['gate']

/** Whether a type runs: its breaker, a pause, a stop that a handler asked for, or nobody to run it. */
export function TypeState({ gate, workers = 1 }: { gate: Gate; workers?: number }) {
  const [status, words] = stateOf(gate, workers)
  return (
    <span className="status" data-status={status}>
      {words}
    </span>
  )
}

function stateOf(gate: Gate, workers: number): [string, string] {
  if (gate?.breaker.open) return ['dead', gate.breaker.held_by === 'operator' ? 'held open' : 'breaker open']
  if (gate?.paused) return ['failed', 'paused']
  if (gate?.stopped_until && Date.parse(gate.stopped_until) > Date.now()) return ['failed', 'stopped for a time']
  return workers === 0 ? ['failed', 'no worker'] : ['completed', 'runs']
}
