import type { PauseBody } from '../../api/common.js'
import type {
  BackfillBody,
  BackfilledAnswer,
  PreviewAnswer,
  PruneBody,
  RanAnswer,
  ScheduleAnswer,
  ScheduleBody,
  ScheduleChange,
  ScheduleStoryAnswer,
  SchedulesQuery,
} from '../../api/schedules.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import type { ScheduleDefinition } from '../../schedule/spec.js'
import { definitionOf, scheduleAnswer, tickAnswer } from '../../server/routes/schedule-answers.js'
import { overHttp } from '../../server/spelling.js'
import { defined } from '../defined.js'
import type { Acting, Operator } from './operator.js'

type Schedules = Operator['schedules']

/** Schedules, as the HTTP client shows and operates them. */
export class DatabaseSchedules implements Pick<Schedules, keyof Schedules> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async list({ after, limit = 100 }: SchedulesQuery = {}): Promise<{ schedules: ScheduleAnswer[]; next: string | null }> {
    const page = await this.#holdfast.schedules.list(defined({ after, limit }))
    const next = page.length === limit ? (page.at(-1)?.name ?? null) : null
    return { schedules: page.map(scheduleAnswer), next }
  }

  async get(name: string): Promise<ScheduleStoryAnswer | undefined> {
    const { schedules } = this.#holdfast
    const state = await schedules.get(name, { ticks: 20 })
    if (!state) return undefined
    const { reasons = [] } = (await schedules.explain(name)) ?? {}
    return { ...scheduleAnswer(state), reasons, ticks: state.ticks.map(tickAnswer) }
  }

  async preview(name: string, options: { count?: number } = {}): Promise<PreviewAnswer['ticks']> {
    const ahead = await this.#holdfast.schedules.preview(name, options)
    return ahead.map(({ tick, due }) => ({ tick: tick.toISOString(), due: due.toISOString() }))
  }

  async create({ name, why, ...fields }: ScheduleBody): Promise<ScheduleAnswer> {
    const definition = { name, ...definitionOf(fields) } as ScheduleDefinition
    await this.#holdfast.schedules.create(definition, this.#who(why)).catch(spelled)
    return this.#afterwards(name)
  }

  async change(name: string, { why, ...fields }: ScheduleChange): Promise<ScheduleAnswer> {
    await this.#holdfast.schedules.change(name, definitionOf(fields), this.#who(why)).catch(spelled)
    return this.#afterwards(name)
  }

  async pause(name: string, { why, ...ends }: PauseBody = {}): Promise<ScheduleAnswer> {
    await this.#holdfast.schedules.pause(name, this.#who(why), ends)
    return this.#afterwards(name)
  }

  async resume(name: string, { why }: { why?: string } = {}): Promise<ScheduleAnswer> {
    await this.#holdfast.schedules.resume(name, this.#who(why))
    return this.#afterwards(name)
  }

  async reset(name: string, { why }: { why?: string } = {}): Promise<ScheduleAnswer> {
    await this.#holdfast.schedules.reset(name, this.#who(why))
    return this.#afterwards(name)
  }

  async runNow(name: string, { why }: { why?: string } = {}): Promise<RanAnswer> {
    const { inTheWay, ...ran } = await this.#holdfast.schedules.runNow(name, this.#who(why))
    return { ...ran, in_the_way: inTheWay }
  }

  async backfill(name: string, { from, to, dry_run: dryRun = false, why }: BackfillBody): Promise<BackfilledAnswer> {
    const range = { from: new Date(from), to: new Date(to) }
    const { ticks, made } = await this.#holdfast.schedules.backfill(name, range, this.#who(why), { dryRun })
    return { ticks, made: made.map(({ tick, job }) => ({ tick: tick.toISOString(), job })) }
  }

  async remove(name: string, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.schedules.remove(name, this.#who(why))
  }

  async prune({ dry_run: dryRun = false, why }: PruneBody = {}): Promise<string[]> {
    return this.#holdfast.schedules.prune(this.#who(why), { dryRun })
  }

  async #afterwards(name: string): Promise<ScheduleAnswer> {
    const state = await this.#holdfast.schedules.get(name)
    if (state) return scheduleAnswer(state)
    throw new HoldfastError('not_found', `there is no schedule named "${name}"`, { field: 'name' })
  }
}

/** Over HTTP an option has its name there. */
function spelled(error: unknown): never {
  throw overHttp(error)
}
