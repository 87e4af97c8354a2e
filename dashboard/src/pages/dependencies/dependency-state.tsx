import type { Dependency } from '../../api/answers.js'

/** Whether jobs that use a dependency may run: its breaker, or a pause. */
export function DependencyState({ dependency: { breaker, paused } }: { dependency: Dependency }) {
  const [status, words] = breaker.open
    ? ['dead', breaker.held_by === 'operator' ? 'held open' : 'breaker open']
    : paused
      ? ['failed', 'paused']
      : ['completed', 'open to jobs']
  return (
    <span className="status" data-status={status}>
      {words}
    </span>
  )
}
