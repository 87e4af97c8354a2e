import { type Actor, checkedActor } from '../job/actor.js'
import { checkJobId } from '../job/id.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import type { MoveStore } from '../store/move-store.js'
import { explained } from '../store/sqlstate.js'
import { type Moved, movedOrUnknown } from './moves.js'

/** What became of a verdict, with how many of the approvals that are needed there are now. */
export interface Decided extends Moved {
  approvals: number
  quorum: number
}

/** What a verdict is about. */
export interface VerdictOptions {
  /**
   * The revision of the payload that was looked at, as `job.approval.revision` says it. A verdict on another one than the job has is refused.
   * @range 1 to 2,147,483,647
   * @default the one that stands when the verdict arrives
   */
  revision?: number
}

/** The verdicts of people on jobs that wait for approval. */
export class Approvals {
  readonly #store: MoveStore

  constructor(store: MoveStore) {
    this.#store = store
  }

  /** Once as many different people as the quorum have approved, the job goes where it belongs. */
  async approve(id: string, who: Actor, options: VerdictOptions = {}): Promise<Decided> {
    return this.#decide(id, 'approve', who, options)
  }

  /** One is enough, and it has to say why: the job ends as cancelled. */
  async reject(id: string, who: Actor & { why: string }, options: VerdictOptions = {}): Promise<Decided> {
    if (typeof who?.why !== 'string' || who.why.trim() === '') {
      throw refused('why', 'is missing: say why the job is rejected, for the service that enqueued it')
    }
    return this.#decide(id, 'reject', who, options)
  }

  async #decide(id: string, verdict: 'approve' | 'reject', who: Actor, options: VerdictOptions): Promise<Decided> {
    checkJobId(id)
    const by = checkedActor(who)
    refuseUnknown(options, ['revision'])
    const revision = options.revision === undefined ? null : wholeNumber(options.revision, 'revision', 1, 2_147_483_647)
    try {
      const row = await this.#store.decideApproval(id, verdict, by, revision)
      return { ...movedOrUnknown(row, id), approvals: row.approvals, quorum: row.quorum ?? 0 }
    } catch (error) {
      throw explained(error)
    }
  }
}
