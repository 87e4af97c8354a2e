/** What an event of the feed can say of a job, in the words of the type `JobEvent`. */
export const eventKinds = ['completed', 'retrying', 'dead', 'cancelled', 'discarded', 'replayed', 'resumed'] as const

/** One of the kinds of events. */
export type EventKind = (typeof eventKinds)[number]

/** What went wrong, or who ended the job and why. */
export interface EventError {
  name: string
  message: string
}

/** What events of every kind have. */
export interface EventOf<Kind extends EventKind> {
  kind: Kind
  /** Where this event is in the feed. It is the same whenever the event is read, so it also tells whether one was seen before. */
  cursor: string
  /** The id of the job. */
  job: string
  type: string
  tags: readonly string[]
  /** The service that enqueued the job over HTTP; null if the library or SQL did. */
  owner: string | null
  at: Date
  /** The attempt that ended, or the last before somebody acted. */
  attempt: number
}

/** Something that happened to a job. `kind` says what, and TypeScript knows by it which fields there are. */
export type JobEvent =
  | EventOf<'completed'>
  /** An attempt failed or was lost, and the job will be tried again. */
  | (EventOf<'retrying'> & { error: EventError | null })
  | (EventOf<'dead'> & { error: EventError | null; reason: 'exhausted' | 'fatal' | 'poison' | 'expired' | 'buried' | null })
  | (EventOf<'cancelled'> & { error: EventError | null })
  /** A dead job that nobody wants to run. */
  | (EventOf<'discarded'> & { error: EventError | null })
  /** A dead job that is to run again. */
  | EventOf<'replayed'>
  /** A cancelled job that is to run again. */
  | EventOf<'resumed'>
