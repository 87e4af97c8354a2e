import { monotonicMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { type EventKind, eventKinds, type JobEvent } from '../job/event.js'
import { followPages } from '../job/follow-pages.js'
import { notA, refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { readTagsAsked } from '../job/tags.js'
import { storableText } from '../job/text.js'
import type { EventQuestion, EventRow, EventStore } from '../store/event-store.js'
import { told } from '../store/sqlstate.js'

/** Which events are read, and from where on. */
export interface EventFilter {
  /**
   * The cursor of the last event that you have dealt with, or the `next` of a page; `'now'`: only what comes from now on.
   * @default from the first event that is kept
   */
  after?: string
  /**
   * Only events of jobs of these types.
   * @default all
   */
  types?: readonly string[]
  /**
   * Only events of these kinds.
   * @default all
   */
  kinds?: readonly EventKind[]
  /**
   * Only events of jobs that have all of these tags; they may have more.
   * @default all
   */
  tags?: readonly string[]
}

/** One page of events. */
export interface EventPage {
  events: JobEvent[]
  /** The cursor to read on from. It moves on also if no event fits, so store this one rather than that of the last event. */
  next: string
  /** There may be more already. */
  more: boolean
}

/** How `follow` reads. */
export interface FollowOptions extends EventFilter {
  /**
   * How long to wait before the next read if there was nothing.
   * @range 10 ms to 1 hour
   * @default '1s'
   */
  poll?: Duration
  /**
   * Ends the loop when it fires.
   * @default none
   */
  signal?: AbortSignal
}

/** Events one after the other, for `for await`. */
export interface FollowedEvents extends AsyncIterable<JobEvent> {
  /** The cursor from which a reader that starts again misses nothing; undefined until the first read. */
  readonly cursor: string | undefined
}

const openedForMs = 60_000
/** How many events one page looks at to find those that fit. The job of each has to be looked up. */
const mostLookedAt = 2_000

/** What happened to jobs, by a cursor that the reader keeps: each event at least once, in one order. */
export class Events {
  readonly #store: EventStore
  #openedAt = Number.NEGATIVE_INFINITY

  /** @internal */
  constructor(store: EventStore) {
    this.#store = store
  }

  /**
   * One page: at most `limit` events (100) after a cursor. The first call ever begins the recording.
   * @example
   * const { events, next } = await holdfast.events.page({ kinds: ['dead'], limit: 10 })
   * for (const { job, type } of events) console.log(`${type} ${job} died`)
   */
  async page(options: EventFilter & { limit?: number } = {}): Promise<EventPage> {
    refuseUnknown(options, ['after', 'types', 'kinds', 'tags', 'limit'])
    const { limit = 100, ...filter } = options
    const question = questionOf(filter, wholeNumber(limit, 'limit', 1, 1_000))
    await this.open()
    return told(readEvents(this.#store, question))
  }

  /**
   * Every event after a cursor, and then those that come, until the signal fires or the loop is left. An error of the database ends it
   * with that error; go on after `cursor`.
   * @example
   * for await (const event of holdfast.events.follow({ after: 'now', signal: AbortSignal.timeout(1000) })) {
   *   if (event.kind === 'dead') console.log(event.type, event.reason, event.error?.message)
   * }
   */
  follow(options: FollowOptions = {}): FollowedEvents {
    refuseUnknown(options, ['after', 'types', 'kinds', 'tags', 'poll', 'signal'])
    const { poll = '1s', signal, ...filter } = options
    const pollMs = toMilliseconds(poll, 'poll')
    if (pollMs < 10 || pollMs > 3_600_000) throw notA('poll', poll, 'a duration from 10 ms to 1 hour')
    questionOf(filter, 1)
    const read = (after: string | undefined) => this.page({ ...filter, ...(after !== undefined && { after }) })
    return followPages(read, { after: filter.after, pollMs, signal })
  }

  /** @internal Says that somebody reads, at most once a minute. */
  async open(): Promise<void> {
    if (monotonicMs() - this.#openedAt < openedForMs) return
    await told(this.#store.open())
    this.#openedAt = monotonicMs()
  }
}

/** A page of the feed, which somebody has opened. */
export async function readEvents(store: EventStore, question: EventQuestion | 'now'): Promise<EventPage> {
  if (question === 'now') return { events: [], next: await store.now(), more: false }
  const { events, next, more, lost, ahead, closed } = await store.read(question)
  if (ahead) {
    const why = 'the cursor is ahead of this database: it is from another one, or this one was restored from a backup'
    throw new HoldfastError('events_lost', `${why}; read from the first event that is kept by leaving out after`, {
      field: 'after',
    })
  }
  if (lost !== null || (closed && question.after !== null)) {
    const since =
      lost === null ? 'nothing is recorded, because nobody read' : `the rest begins at ${new Date(lost).toISOString()}`
    throw new HoldfastError(
      'events_lost',
      `events after that cursor are no longer kept: ${since}; read on from the first that is kept by leaving out after`,
      { field: 'after' },
    )
  }
  return { events: events.map(eventOf), next, more }
}

/** Checks what is asked for, and brings it into the form the database takes. */
export function questionOf({ after, types, kinds, tags }: EventFilter, limit: number, owner?: string): EventQuestion | 'now' {
  const names = listOf(types, 'types')?.map((type, at) => storableText(type, `types[${at}]`)) ?? null
  const asked = listOf(kinds, 'kinds')
  for (const [at, kind] of asked?.entries() ?? []) {
    if (!eventKinds.includes(kind as EventKind)) throw notA(`kinds[${at}]`, kind, `one of ${eventKinds.join(', ')}`)
  }
  const tagged = readTagsAsked(tags)
  if (after === 'now') return 'now'
  return {
    after: cursorOf(after),
    types: names,
    kinds: asked,
    tags: tagged,
    owner: owner ?? null,
    limit,
    look: Math.max(limit, mostLookedAt),
  }
}

function listOf(value: unknown, field: string): readonly string[] | null {
  if (value === undefined) return null
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string')) return value
  throw notA(field, value, 'a list of texts that is not empty')
}

function cursorOf(after: unknown): string | null {
  if (after === undefined) return null
  if (typeof after === 'string' && /^\d{1,19}$/.test(after) && BigInt(after) < 2n ** 63n) return after
  throw refused('after', 'must be the cursor of an event, the next of a page, or now')
}

function eventOf({ kind, error, reason, at, ...row }: EventRow): JobEvent {
  const fails = ['retrying', 'dead', 'cancelled', 'discarded'].includes(kind)
  return { kind, ...row, at: new Date(at), ...(fails && { error }), ...(kind === 'dead' && { reason }) } as JobEvent
}
