import type { RecordedActor } from '../job/actor.js'
import type { FinishedStep, StepPosition, StepWait, StoredStep, WaitingStep } from '../job/steps.js'
import type { Database } from './database.js'
import { type Statement, statement } from './queries.js'
import type { Queryable } from './transaction.js'

/** A step with when it was written, and until when a sleep or wait lasts. */
export interface StepRow extends StoredStep {
  attempt: number
  at: number
  until: number | null
}

/** A signal that was sent to a job. `delivered`: the position of the step that took it. */
export interface SignalRow {
  name: string
  payload: string
  actor: string
  at: number
  delivered: number | null
}

/** The steps of jobs, and the signals sent to them. Every write of a step is that of the attempt that holds the lease. */
export class StepStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  of(job: string): Promise<StepRow[]> {
    return this.#database.query(statement('stepsOfJob'), [job])
  }

  signalsOf(job: string): Promise<SignalRow[]> {
    return this.#database.query(statement('signalsOfJob'), [job])
  }

  async typeOf(job: string, tx?: Queryable): Promise<{ type: string; encrypted: boolean } | undefined> {
    return (await this.#query<{ type: string; encrypted: boolean }>(statement('typeOfJob'), [job], tx))[0]
  }

  async signal(job: string, name: string, payload: string, who: RecordedActor, tx?: Queryable): Promise<void> {
    await this.#query(statement('sendSignal'), [job, name, payload, who.by, who.why, who.from], tx)
  }

  #query<Row>(named: Statement, values: readonly unknown[], tx: Queryable | undefined): Promise<Row[]> {
    return tx ? tx.query(this.#database.rendered(named).text, values) : this.#database.query(named, values)
  }

  /** False: the lease is lost, and nothing was kept. */
  async save(job: string, lease: string, step: FinishedStep): Promise<boolean> {
    const rows = await this.#database.query<{ saved: boolean }>(statement('saveStep'), [
      ...parametersOf(job, lease, step),
      step.result,
    ])
    return rows[0]?.saved === true
  }

  async wait(job: string, lease: string, step: WaitingStep): Promise<StepWait> {
    return (
      await this.#database.query<StepWait>(statement('waitStep'), [...parametersOf(job, lease, step), step.ms])
    )[0] as StepWait
  }
}

function parametersOf(job: string, lease: string, { name, kind, position, after, done }: StepPosition): unknown[] {
  return [job, lease, name, kind, position, after, done]
}
