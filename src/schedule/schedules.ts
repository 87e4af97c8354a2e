import type { TypeRegistry } from '../enqueue/registry.js'
import { HoldfastError } from '../errors.js'
import { type Actor, checkedActor } from '../job/actor.js'
import { showValue } from '../job/failure.js'
import { type ForATime, readFor } from '../job/for-a-time.js'
import { newJobId } from '../job/id.js'
import { notA, refused, refuseUnknown, trueOrFalse, wholeNumber } from '../job/refused.js'
import type { Privacy } from '../privacy/privacy.js'
import type { NewTick, ScheduleRow } from '../store/schedule-store.js'
import { told } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { changedSpec } from './change.js'
import { explainSchedule, type ScheduleExplanation } from './explain.js'
import { payloadFor } from './scheduler.js'
import { defineSchedule, readName, type Schedule, type ScheduleDefinition, type ScheduleSpec, specFields } from './spec.js'
import { type ScheduleState, type ScheduleTick, scheduleState, scheduleTick, specOf } from './states.js'
import { readyToStore } from './storable.js'
import { jitterOf, ticksBetween } from './ticks.js'

/** What became of the schedules of a program's code, by name. */
export interface DefinedSchedules {
  created: string[]
  changed: string[]
  /** The code changed, and so had an operator: what the operator said holds, and both are shown. */
  changedBesideOperator: string[]
  /** They stood in this code before. They go on until they are pruned. */
  gone: string[]
}

/** What a run by hand came to. */
export interface RunSchedule {
  /** Null: it was skipped, because of the job in the way. */
  job: string | null
  outcome: 'created' | 'queued' | 'skipped'
  inTheWay: string | null
}

/** What a backfill came to. */
export interface Backfilled {
  /** How many ticks the range has. */
  ticks: number
  /** Those that had no job yet, with the one each has now. */
  made: { tick: Date; job: string }[]
}

const mostPreviewed = 1_000
const mostBackfilled = 10_000
/** Ticks of one backfill that are one transaction. */
const backfilledAtOnce = 500

/**
 * What makes jobs by the clock. Each call that changes something is one transaction, with its line in the audit log; workers follow
 * within ten seconds.
 */
export class Schedules {
  readonly #store: Store
  readonly #types: TypeRegistry
  readonly #privacy: Privacy

  /** @internal */
  constructor(store: Store, types: TypeRegistry, privacy: Privacy) {
    this.#store = store
    this.#types = types
    this.#privacy = privacy
  }

  /**
   * Writes the schedules that stand in a program's code, all of them; `startWorker` does it with its option `schedules`. What an operator
   * changed stays. Schedules of the same set that are not among them are reported as gone, and go on until they are pruned.
   * @param options.set what the code is called beside that of other programs with schedules in the same database ('default')
   */
  async define(schedules: readonly Schedule[], options: { set?: string } = {}): Promise<DefinedSchedules> {
    refuseUnknown(options, ['set'])
    const set = readName(options.set ?? 'default', 'set')
    const names = schedules.map(({ name }) => name)
    const twice = names.find((name, at) => names.indexOf(name) < at)
    if (twice !== undefined) throw refused('name', `of two schedules is ${showValue(twice)}; each must have its own`)
    for (const schedule of schedules) await this.#check(schedule)
    const rows = await told(this.#store.schedules.define(set, schedules))
    const of = (what: string) => rows.filter((row) => row.what === what).map((row) => row.name)
    return {
      created: of('created'),
      changed: of('changed'),
      changedBesideOperator: of('changed_beside_operator'),
      gone: of('gone'),
    }
  }

  /**
   * Creates a schedule at run time. Its first tick is the first after now.
   * @example
   * await holdfast.schedules.create(
   *   { name: 'report-of-acme', type: 'make_report', payload: { tenant: 'acme' }, cron: '0 6 * * MON', timeZone: 'America/New_York' },
   *   { by: 'ada' },
   * )
   */
  async create<Input>(definition: ScheduleDefinition<Input>, who: Actor): Promise<void> {
    const [schedule, actor] = [defineSchedule(definition), checkedActor(who)]
    await this.#check(schedule)
    await told(this.#store.schedules.create(schedule.name, schedule.spec, actor))
  }

  /**
   * Changes the named fields of a schedule; null takes one back to its default. Of one that stands in code the change holds, also after
   * deploys, until `reset`; what the code says is shown beside it.
   */
  async change(
    name: string,
    fields: { [Field in keyof ScheduleDefinition]?: ScheduleDefinition[Field] | null },
    who: Actor,
  ): Promise<void> {
    refuseUnknown(fields, ['name', ...specFields])
    const actor = checkedActor(who)
    const row = await this.#read(name)
    const schedule = changedSpec(name, specOf(row), fields)
    await this.#check(schedule)
    const before: Partial<Record<string, unknown>> = { ...specOf(row) }
    const changed = Object.entries(schedule.spec).filter(
      ([field, value]) => JSON.stringify(value) !== JSON.stringify(before[field]),
    )
    if (changed.length === 0) return
    await told(this.#store.schedules.change(name, row.revision, Object.fromEntries(changed), actor))
  }

  /** Takes back what operators changed of a schedule that stands in code. False: nothing was changed. */
  async reset(name: string, who: Actor): Promise<boolean> {
    return told(this.#store.schedules.reset(readName(name), checkedActor(who)))
  }

  /** No tick makes a job until it is resumed, or until the time `for` is over; jobs that are there go on. False: it was paused already. */
  async pause(name: string, who: Actor, options: ForATime = {}): Promise<boolean> {
    return told(this.#store.schedules.pause(readName(name), checkedActor(who), readFor(options)))
  }

  /** Ticks make jobs again, from now on: those of the pause are over. False: it was not paused. */
  async resume(name: string, who: Actor): Promise<boolean> {
    return told(this.#store.schedules.resume(readName(name), checkedActor(who)))
  }

  /** Makes a job of it now, paused or not, under its overlap policy. */
  async runNow(name: string, who: Actor): Promise<RunSchedule> {
    const actor = checkedActor(who)
    const row = await this.#read(name)
    const job = newJobId()
    const payload = this.#payload(row, job)
    const { in_the_way: inTheWay, ...fired } = await told(this.#store.schedules.runNow(name, row.revision, job, payload, actor))
    return { ...fired, inTheWay }
  }

  /**
   * The next ticks after `from` (now, by the database), at most `count` (10), and when the job of each is due, which jitter makes later. Of
   * a schedule that is stored, or of a definition before it is.
   */
  async preview(
    schedule: string | Schedule,
    options: { count?: number; from?: Date } = {},
  ): Promise<{ tick: Date; due: Date }[]> {
    refuseUnknown(options, ['count', 'from'])
    const count = wholeNumber(options.count ?? 10, 'count', 1, mostPreviewed)
    const row = typeof schedule === 'string' ? await this.#read(schedule) : undefined
    const now = row?.now ?? (await told(this.#store.inspect.now())).getTime()
    const [name, spec] = row ? [row.name, specOf(row)] : [(schedule as Schedule).name, (schedule as Schedule).spec]
    const from = options.from === undefined ? now : readMoment(options.from, 'from')
    const ticks = ticksBetween(spec, from, Number.POSITIVE_INFINITY, count)
    return ticks.map((tick) => ({ tick: new Date(tick), due: new Date(tick + jitterOf(name, tick, spec.jitterMs)) }))
  }

  /**
   * Makes a job of each tick from `from` up to and with `to` that has none, whatever the overlap policy. Ticks that were fired are left alone, for as
   * long as they are kept: 90 days. `dryRun` (false) only counts the ticks.
   */
  async backfill(
    name: string,
    range: { from: Date; to: Date },
    who: Actor,
    options: { dryRun?: boolean } = {},
  ): Promise<Backfilled> {
    const actor = checkedActor(who)
    refuseUnknown(range, ['from', 'to'], ['range'])
    refuseUnknown(options, ['dryRun'])
    const dryRun = trueOrFalse(options.dryRun ?? false, 'dryRun')
    const [from, to] = [readMoment(range.from, 'from'), readMoment(range.to, 'to')]
    if (to < from) throw notA('to', range.to, 'later than from')
    const row = await this.#read(name)
    if (to > row.now) throw notA('to', range.to, 'over; what is ahead the schedule will fire by itself')
    const ticks = ticksBetween(specOf(row), from - 1, to, mostBackfilled + 1)
    if (ticks.length > mostBackfilled) {
      const problem = `has more than ${mostBackfilled} ticks from ${range.from.toISOString()}; backfill it in parts`
      throw refused('to', problem)
    }
    if (dryRun) return { ticks: ticks.length, made: [] }
    const made: Backfilled['made'] = []
    for (let at = 0; at < ticks.length; at += backfilledAtOnce) {
      const part = ticks.slice(at, at + backfilledAtOnce).map((tick) => this.#newTick(row, tick))
      const rows = await told(this.#store.schedules.backfill(name, row.revision, part, actor))
      made.push(...rows.map(({ tick, job }) => ({ tick: new Date(tick), job })))
    }
    return { ticks: ticks.length, made }
  }

  /** One page of schedules by name: `limit` of them (100) after the name `after`. */
  async list(options: { after?: string; limit?: number } = {}): Promise<ScheduleState[]> {
    refuseUnknown(options, ['after', 'limit'])
    const limit = wholeNumber(options.limit ?? 100, 'limit', 1, 1_000)
    const after = options.after === undefined ? '' : readName(options.after, 'after')
    return (await told(this.#store.schedules.list(after, limit))).map((row) => scheduleState(row, this.#privacy))
  }

  /** One schedule with its latest ticks, newest first: at most `ticks` of them (20). Undefined: there is none of that name. */
  async get(name: string, options: { ticks?: number } = {}): Promise<(ScheduleState & { ticks: ScheduleTick[] }) | undefined> {
    refuseUnknown(options, ['ticks'])
    const most = wholeNumber(options.ticks ?? 20, 'ticks', 0, 1_000)
    const row = await told(this.#store.schedules.read(readName(name)))
    if (!row) return undefined
    const ticks = most === 0 ? [] : await told(this.#store.schedules.ticks(row.id, most))
    return { ...scheduleState(row, this.#privacy), ticks: ticks.map(scheduleTick) }
  }

  /** Why a schedule makes no job at this moment. Undefined: there is none of that name. */
  async explain(name: string): Promise<ScheduleExplanation | undefined> {
    const row = await told(this.#store.schedules.read(readName(name)))
    return row && explainSchedule(scheduleState(row, this.#privacy), new Date(row.now))
  }

  /** Removes a schedule and its ticks; jobs it made stay. One that stands in code is refused. */
  async remove(name: string, who: Actor): Promise<void> {
    await told(this.#store.schedules.remove(readName(name), checkedActor(who)))
  }

  /** Removes the schedules that are gone from code, and answers with their names. `dryRun` (false) only names them. */
  async prune(who: Actor, options: { dryRun?: boolean } = {}): Promise<string[]> {
    refuseUnknown(options, ['dryRun'])
    const dryRun = trueOrFalse(options.dryRun ?? false, 'dryRun')
    return told(this.#store.schedules.prune(dryRun, checkedActor(who)))
  }

  async #check(schedule: Schedule): Promise<void> {
    await readyToStore(schedule, this.#store, this.#types, this.#privacy)
  }

  async #read(name: string): Promise<ScheduleRow> {
    const row = await told(this.#store.schedules.read(readName(name)))
    if (row) return row
    throw new HoldfastError('not_found', `there is no schedule named "${name}"`, { field: 'name' })
  }

  #payload(row: ScheduleRow, job: string): string {
    const { type, payload }: ScheduleSpec = specOf(row)
    return payloadFor(this.#privacy, { type, encrypted: row.encrypted }, job, payload)
  }

  #newTick(row: ScheduleRow, tick: number): NewTick {
    const job = newJobId()
    return { tick: new Date(tick).toISOString(), due: null, job, payload: this.#payload(row, job) }
  }
}

function readMoment(time: unknown, field: string): number {
  if (time instanceof Date && !Number.isNaN(time.getTime())) return time.getTime()
  throw notA(field, time, 'a valid Date')
}
