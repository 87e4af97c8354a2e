import type { MovedAnswer } from '../../api/common.js'
import type { DoctorAnswer, DoctorQuery } from '../../api/doctor.js'
import type { ExplainAnswer, JobAnswer, ListAnswer, ListQuery, LogAnswer, LogQuery, RescheduleBody } from '../../api/jobs.js'
import type { SeriesAnswer, SeriesQuery } from '../../api/series.js'
import type { ApproveBody, DecidedAnswer, RejectBody } from '../../api/verdicts.js'
import type { ClientEnqueued } from '../../client/stored.js'
import type { JobListFilter } from '../../history/list.js'
import type { Holdfast } from '../../holdfast.js'
import type { JobOptions } from '../../job/job-options.js'
import type { JobType } from '../../job/type.js'
import type { NewTime } from '../../operate/moves.js'
import { libraryFilter } from '../../server/routes/filter.js'
import { explanationAnswer, logAnswerOf, moment, storyAnswer, summaryAnswer } from '../../server/routes/job-answers.js'
import { orConflict } from '../../server/routes/one-job.js'
import { seriesAnswer, seriesQuestion } from '../../server/routes/series-answers.js'
import { defined } from '../defined.js'
import { DatabaseAccess } from './database-access.js'
import { DatabaseAlerts } from './database-alerts.js'
import { DatabaseBatches } from './database-batches.js'
import { DatabaseBulk } from './database-bulk.js'
import { DatabaseDeadLetters } from './database-dead-letters.js'
import { DatabaseEvents } from './database-events.js'
import { DatabaseExecutions } from './database-executions.js'
import { DatabaseFlow } from './database-flow.js'
import { DatabaseSchedules } from './database-schedules.js'
import type { Acting, Operator } from './operator.js'

/** What the HTTP client does, done to the database by the library, with the same answers. */
export class DatabaseOperator implements Operator {
  readonly batches: DatabaseBatches
  readonly executions: DatabaseExecutions
  readonly schedules: DatabaseSchedules
  readonly deadLetters: DatabaseDeadLetters
  readonly flow: DatabaseFlow
  readonly alerts: DatabaseAlerts
  readonly access: DatabaseAccess
  readonly events: DatabaseEvents
  readonly bulkActions: DatabaseBulk
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, actor: { by: string; from: string }) {
    const who: Acting = (why) => ({ ...actor, ...(why === undefined ? {} : { why }) })
    this.#holdfast = holdfast
    this.#who = who
    this.batches = new DatabaseBatches(holdfast, who)
    this.executions = new DatabaseExecutions(holdfast, who)
    this.schedules = new DatabaseSchedules(holdfast, who)
    this.deadLetters = new DatabaseDeadLetters(holdfast, who)
    this.flow = new DatabaseFlow(holdfast, who)
    this.alerts = new DatabaseAlerts(holdfast, who)
    this.access = new DatabaseAccess(holdfast, who)
    this.events = new DatabaseEvents(holdfast)
    this.bulkActions = new DatabaseBulk(holdfast, who)
  }

  async enqueue<Input>(
    // biome-ignore lint/suspicious/noExplicitAny: what the handler takes does not matter to a producer
    type: JobType<Input, any, any> | string,
    payload: Input,
    options: JobOptions = {},
  ): Promise<ClientEnqueued> {
    const { id, status } = await this.#holdfast.enqueue(type, payload, options)
    return { id, status }
  }

  async jobs(query: ListQuery = {}): Promise<ListAnswer> {
    const { limit, cursor, payload, ...asked } = query
    const filter = {
      ...libraryFilter<JobListFilter>(asked),
      ...(payload !== undefined && { payload: JSON.parse(payload) as unknown }),
    }
    const page = await this.#holdfast.jobs(filter, defined({ limit, cursor }))
    return { jobs: page.jobs.map(summaryAnswer), next: page.next, looked_back_to: moment(page.lookedBackTo) }
  }

  async job(id: string): Promise<JobAnswer | undefined> {
    const story = await this.#holdfast.job(id)
    return story && storyAnswer(story)
  }

  async explain(id: string): Promise<ExplainAnswer | undefined> {
    const explanation = await this.#holdfast.explain(id)
    return explanation && explanationAnswer(id, explanation)
  }

  async log(id: string, query: LogQuery = {}): Promise<LogAnswer['lines']> {
    return logAnswerOf(await this.#holdfast.log(id, query)).lines
  }

  async signal(id: string, name: string, payload?: unknown): Promise<void> {
    await this.#holdfast.signal(id, name, payload ?? null, { by: this.#who(undefined) })
  }

  async cancel(id: string, { why }: { why?: string } = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.cancel(id, this.#who(why)))
  }

  async resume(id: string, { why, confirm }: { why?: string; confirm?: string | string[] } = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.resume(id, this.#who(why), defined({ confirm })))
  }

  async runNow(id: string, { why }: { why?: string } = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.runNow(id, this.#who(why)))
  }

  async reschedule(id: string, { delay, run_at, why }: RescheduleBody): Promise<MovedAnswer> {
    const time = defined({ delay, runAt: run_at === undefined ? undefined : new Date(run_at) }) as NewTime
    return orConflict(await this.#holdfast.reschedule(id, time, this.#who(why)))
  }

  async bury(id: string, { why }: { why?: string } = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.bury(id, this.#who(why)))
  }

  async setPriority(id: string, priority: number, { why }: { why?: string } = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.setPriority(id, priority, this.#who(why)))
  }

  async approve(id: string, { why, ...options }: ApproveBody = {}): Promise<DecidedAnswer> {
    return orConflict(await this.#holdfast.approve(id, this.#who(why), options))
  }

  async reject(id: string, { why, ...options }: RejectBody): Promise<DecidedAnswer> {
    return orConflict(await this.#holdfast.reject(id, { ...this.#who(why), why }, options))
  }

  async series(query: SeriesQuery = {}): Promise<SeriesAnswer> {
    return seriesAnswer(await this.#holdfast.series(seriesQuestion(query)))
  }

  async doctor({ transaction }: DoctorQuery = {}): Promise<DoctorAnswer> {
    return this.#holdfast.doctor(defined({ transaction }))
  }

  async forget(id: string, { why }: { why?: string } = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.forget(id, this.#who(why)))
  }
}
