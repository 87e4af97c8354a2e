import type { JobStatus } from '../../../src/job/state.js'

/** How people say a status. */
export const statusWords: Readonly<Record<JobStatus, string>> = {
  pending: 'pending',
  scheduled: 'scheduled',
  blocked: 'blocked',
  awaiting_approval: 'awaits approval',
  processing: 'processing',
  failed: 'failed, retries',
  completed: 'completed',
  cancelled: 'cancelled',
  dead: 'dead',
  discarded: 'discarded',
} as Record<JobStatus, string>

/** A shape for each, so that nobody needs the colour to tell them apart. */
const shapes: Readonly<Record<string, string>> = {
  pending: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 2a4 4 0 1 1 0 8 4 4 0 0 1 0-8Z',
  processing: 'M4 2v12l10-6z',
  scheduled: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm-1 3h2v4l3 2-1 1.6-4-2.6z',
  blocked: 'M2 7h12v2H2z',
  awaiting_approval: 'M3 2h10v2L9 8l4 4v2H3v-2l4-4-4-4z',
  failed: 'M8 1l7 13H1zM7 6v4h2V6zm0 5v2h2v-2z',
  completed: 'M6.5 13 1.5 8 3 6.5l3.5 3.5L13 3.5 14.5 5z',
  cancelled: 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1ZM4 7h8v2H4z',
  dead: 'M3 4.4 4.4 3 8 6.6 11.6 3 13 4.4 9.4 8l3.6 3.6-1.4 1.4L8 9.4 4.4 13 3 11.6 6.6 8z',
  discarded: 'M3 4.4 4.4 3 8 6.6 11.6 3 13 4.4 9.4 8l3.6 3.6-1.4 1.4L8 9.4 4.4 13 3 11.6 6.6 8z',
}

export function Status({ status }: { status: string }) {
  return (
    <span className="status" data-status={status}>
      <svg viewBox="0 0 16 16" aria-hidden="true" fill="currentColor" fillRule="evenodd">
        <path d={shapes[status] ?? shapes.pending} />
      </svg>
      {statusWords[status as JobStatus] ?? status}
    </span>
  )
}
