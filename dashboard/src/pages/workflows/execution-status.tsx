const states: Readonly<Record<string, string>> = {
  ...{
    running: 'processing',
    started: 'processing',
    completed: 'completed',
    failed: 'dead',
    dead: 'dead',
    discarded: 'discarded',
  },
  ...{ cancelled: 'cancelled', blocked: 'blocked', skipped: 'cancelled' },
}

export const stateOf = (status: string) => states[status] ?? 'pending'

/** The status of an execution or of one of its tasks. */
export function ExecutionStatus({ status }: { status: string }) {
  return (
    <span className="status" data-status={stateOf(status)}>
      {status}
    </span>
  )
}
