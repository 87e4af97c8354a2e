import type { PauseBody } from '../api/common.js'
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
} from '../api/schedules.js'
import { queryOf } from './query.js'
import { orUndefined, type Send } from './sender.js'

/** Schedules over HTTP, in the fields of the API, for a key that may see or manage them. */
export class ClientSchedules {
  readonly #send: Send

  /** @internal */
  constructor(send: Send) {
    this.#send = send
  }

  /** Creates a schedule. One of that name is refused with `conflict`. Sent once: where the answer is lost, `get` tells whether it was created. */
  async create(schedule: ScheduleBody): Promise<ScheduleAnswer> {
    return (await this.#send<ScheduleAnswer>('POST', '/admin/schedules', schedule, { once: true })).answer
  }

  /** Changes the named fields of a schedule. */
  async change(name: string, change: ScheduleChange): Promise<ScheduleAnswer> {
    return (await this.#send<ScheduleAnswer>('PATCH', pathOf(name), change)).answer
  }

  /** Removes a schedule that does not stand in code; its jobs stay. */
  async remove(name: string, options: { why?: string } = {}): Promise<void> {
    await this.#send('DELETE', `${pathOf(name)}${queryOf(options)}`)
  }

  /** One schedule with its latest ticks, and why it makes no job now where it makes none; undefined where there is none of that name. */
  async get(name: string): Promise<ScheduleStoryAnswer | undefined> {
    return orUndefined(this.#send<ScheduleStoryAnswer>('GET', pathOf(name)))
  }

  /** One page of schedules, by name. `next` is the `after` of the page after it; null: this was the last. */
  async list(query: SchedulesQuery = {}): Promise<{ schedules: ScheduleAnswer[]; next: string | null }> {
    const path = `/admin/schedules${queryOf(query)}`
    return (await this.#send<{ schedules: ScheduleAnswer[]; next: string | null }>('GET', path)).answer
  }

  /** Pauses a schedule: no tick makes a job until it is resumed. */
  async pause(name: string, options: PauseBody = {}): Promise<ScheduleAnswer> {
    return (await this.#send<ScheduleAnswer>('POST', `${pathOf(name)}/pause`, options)).answer
  }

  /** Lets a paused schedule tick again, from now on. */
  async resume(name: string, options: { why?: string } = {}): Promise<ScheduleAnswer> {
    return (await this.#send<ScheduleAnswer>('POST', `${pathOf(name)}/resume`, options)).answer
  }

  /** Takes back what operators changed of a schedule that stands in code. */
  async reset(name: string, options: { why?: string } = {}): Promise<ScheduleAnswer> {
    return (await this.#send<ScheduleAnswer>('POST', `${pathOf(name)}/reset`, options)).answer
  }

  /** Makes a job of a schedule now. Sent once: after a lost answer a second try would make a second job. */
  async runNow(name: string, options: { why?: string } = {}): Promise<RanAnswer> {
    return (await this.#send<RanAnswer>('POST', `${pathOf(name)}/run`, options, { once: true })).answer
  }

  /** When a schedule ticks next, `count` times (10). */
  async preview(name: string, options: { count?: number } = {}): Promise<PreviewAnswer['ticks']> {
    return (await this.#send<PreviewAnswer>('GET', `${pathOf(name)}/preview${queryOf(options)}`)).answer.ticks
  }

  /** Makes a job of each tick of a range that has none; with `dry_run` it only counts the ticks. */
  async backfill(name: string, range: BackfillBody): Promise<BackfilledAnswer> {
    return (await this.#send<BackfilledAnswer>('POST', `${pathOf(name)}/backfill`, range)).answer
  }

  /** Removes the schedules that are gone from code and answers with their names; with `dry_run` it only names them. */
  async prune(options: PruneBody = {}): Promise<string[]> {
    return (await this.#send<{ names: string[] }>('POST', '/admin/schedules/prune', options)).answer.names
  }
}

function pathOf(name: string): string {
  return `/admin/schedules/${encodeURIComponent(name)}`
}
