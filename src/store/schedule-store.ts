import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { type Statement, statement } from './queries.js'

/** A schedule that is due, as the worker needs it to decide. `nextAt` is the text of the database, to be handed back as it is. */
export interface DueScheduleRow {
  id: string
  name: string
  spec: unknown
  revision: string
  next_at: string
  handled_to: number
  encrypted: boolean
}

export interface LookRow {
  now: number
  due: DueScheduleRow[] | null
  nextInMs: number | null
}

export interface FiredRow {
  tick: number
  job: string | null
  outcome: TickOutcome
}

export type TickOutcome = 'created' | 'queued' | 'skipped'

/** A tick on its way to its job. */
export interface NewTick {
  tick: string
  /** When its job is due; null: at once. */
  due: string | null
  job: string
  payload: string
}

export interface ScheduleRow {
  id: string
  name: string
  set: string | null
  defined: unknown
  override: Record<string, unknown> | null
  revision: string
  now: number
  handled: number
  gone: number | null
  created: number
  createdBy: string
  changed: number | null
  changedBy: string | null
  changedWhy: string | null
  paused: number | null
  pausedBy: string | null
  pausedWhy: string | null
  pausedUntil: number | null
  lastTick: number | null
  lastJob: string | null
  dropped: string
  droppedTo: number | null
  error: string | null
  errorAt: number | null
  encrypted: boolean
  redact: string[] | null
}

export interface TickRow {
  tick: number
  kind: 'tick' | 'manual' | 'backfill'
  outcome: TickOutcome
  job: string | null
  inTheWay: string | null
  status: string | null
}

/** Schedules and their ticks. Each verb is one function in the database that leaves no half-done state. */
export class ScheduleStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** At most `limit` schedules that are due, where it is this worker's turn to fire them. */
  async due(worker: number, limit: number, holdMs: number): Promise<LookRow> {
    const rows = await this.#database.queryShort<LookRow>(statement('dueSchedules'), [worker, limit, holdMs])
    return rows[0] as LookRow
  }

  /** Null: the schedule has changed since, and nothing was done. */
  async fire(
    { id, revision, next_at }: Pick<DueScheduleRow, 'id' | 'revision' | 'next_at'>,
    ticks: readonly NewTick[],
    then: { handledTo: string; nextAt: string; dropped: number; droppedTo: string | null },
  ): Promise<FiredRow[] | null> {
    const lists = [ticks.map((t) => t.tick), ticks.map((t) => t.due), ticks.map((t) => t.job), ticks.map((t) => t.payload)]
    const values = [id, revision, next_at, ...lists, then.handledTo, then.nextAt, then.dropped, then.droppedTo]
    const rows = await this.#database.query<{ fired: FiredRow[] | null }>(statement('fireSchedule'), values)
    return rows[0]?.fired ?? null
  }

  async putOff({ id, revision, next_at }: DueScheduleRow, error: string): Promise<void> {
    await this.#database.query(statement('putOffSchedule'), [id, revision, next_at, error])
  }

  async forgetTicks(olderMs: number, limit: number): Promise<number> {
    const rows = await this.#database.query<{ gone: number }>(statement('forgetTicks'), [olderMs, limit])
    return rows[0]?.gone ?? 0
  }

  async define(set: string, schedules: readonly { name: string; spec: unknown }[]): Promise<{ name: string; what: string }[]> {
    const values = [set, schedules.map(({ name }) => name), schedules.map(({ spec }) => JSON.stringify(spec))]
    return this.#database.query(statement('defineSchedules'), values)
  }

  async create(name: string, spec: unknown, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('createSchedule'), [name, JSON.stringify(spec), who.by, who.why, who.from])
  }

  async change(name: string, revision: string, fields: unknown, who: RecordedActor): Promise<void> {
    const values = [name, revision, JSON.stringify(fields), who.by, who.why, who.from]
    await this.#database.query(statement('changeSchedule'), values)
  }

  /** False: nothing was changed. */
  async reset(name: string, who: RecordedActor): Promise<boolean> {
    return this.#done(statement('resetSchedule'), name, who)
  }

  /** False: it was paused already. */
  async pause(name: string, who: RecordedActor, forMs: number | null): Promise<boolean> {
    return this.#done(statement('pauseSchedule'), name, who, forMs)
  }

  /** False: it was not paused. */
  async resume(name: string, who: RecordedActor): Promise<boolean> {
    return this.#done(statement('resumeSchedule'), name, who)
  }

  async runNow(name: string, revision: string, job: string, payload: string, who: RecordedActor) {
    const values = [name, revision, job, payload, who.by, who.why, who.from]
    type Fired = { job: string | null; outcome: TickOutcome; in_the_way: string | null }
    const rows = await this.#database.query<{ fired: Fired }>(statement('runSchedule'), values)
    return (rows[0] as { fired: Fired }).fired
  }

  async backfill(
    name: string,
    revision: string,
    ticks: readonly NewTick[],
    who: RecordedActor,
  ): Promise<{ tick: number; job: string }[]> {
    const lists = [ticks.map((t) => t.tick), ticks.map((t) => t.job), ticks.map((t) => t.payload)]
    const values = [name, revision, ...lists, who.by, who.why, who.from]
    const rows = await this.#database.query<{ made: { tick: number; job: string }[] }>(statement('backfillSchedule'), values)
    return rows[0]?.made ?? []
  }

  async remove(name: string, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('removeSchedule'), [name, who.by, who.why, who.from])
  }

  async prune(dryRun: boolean, who: RecordedActor): Promise<string[]> {
    const rows = await this.#database.query<{ name: string }>(statement('pruneSchedules'), [dryRun, who.by, who.why, who.from])
    return rows.map((row) => row.name)
  }

  async list(after: string, limit: number): Promise<ScheduleRow[]> {
    return this.#database.query(statement('readSchedules'), [after, limit, null])
  }

  async read(name: string): Promise<ScheduleRow | undefined> {
    return (await this.#database.query<ScheduleRow>(statement('readSchedules'), ['', 1, name]))[0]
  }

  async ticks(id: string, limit: number): Promise<TickRow[]> {
    return this.#database.query(statement('readTicks'), [id, limit])
  }

  async #done(asked: Statement, name: string, who: RecordedActor, ...more: unknown[]): Promise<boolean> {
    const rows = await this.#database.query<{ done: boolean }>(asked, [name, who.by, who.why, who.from, ...more])
    return rows[0]?.done === true
  }
}
