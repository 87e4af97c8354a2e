import type { Explanation } from '../flow/explain.js'
import type { JobStory, LogLine } from '../history/story.js'
import type { WaitOptions } from '../history/wait.js'
import type { Holdfast } from '../holdfast.js'
import type { Actor } from '../job/actor.js'
import type { Decided } from '../operate/approval.js'
import type { Moved, NewTime } from '../operate/moves.js'
import type { SignalOptions } from '../operate/signals.js'
import { withMember } from './id.js'

/** Where a job is, and what it is called there. */
export interface Located {
  member: string
  holdfast: Holdfast
  id: string
}

/**
 * What is done to one job of several databases: it goes to the member in its id. An id without a member is looked for in all of them, and
 * said not to be there only when all have answered.
 */
export abstract class MemberOperations {
  /** @internal */
  protected abstract locate(id: string): Promise<Located>

  /** One job with its status and all its attempts; undefined where no such job is kept. */
  async job(id: string): Promise<(JobStory & { member: string }) | undefined> {
    const { member, holdfast, id: own } = await this.locate(id)
    const story = await holdfast.job(own)
    return story && { ...story, id: withMember(member, own), member }
  }

  /** Waits until a job has ended, as `wait` of its Holdfast does. */
  async wait<Result = unknown>(job: { id: string } | string, options: WaitOptions<Result> = {}): Promise<Result> {
    const { holdfast, id } = await this.locate(typeof job === 'string' ? job : job.id)
    return holdfast.wait<Result>(id, options)
  }

  /** Why a job is not running now. Its gates are those of its member. */
  async explain(id: string): Promise<Explanation | undefined> {
    const { holdfast, id: own } = await this.locate(id)
    return holdfast.explain(own)
  }

  /** What a job's handler logged, first to last. */
  async log(id: string, options: { after?: string; limit?: number } = {}): Promise<LogLine[]> {
    const { holdfast, id: own } = await this.locate(id)
    return holdfast.log(own, options)
  }

  /** Ends a job that waits or runs. */
  cancel(id: string, who: Actor): Promise<Moved> {
    return this.#move(id, (holdfast, own) => holdfast.cancel(own, who))
  }

  /** Takes up a cancelled job. */
  resume(id: string, who: Actor, options: { confirm?: string | string[] } = {}): Promise<Moved> {
    return this.#move(id, (holdfast, own) => holdfast.resume(own, who, options))
  }

  /** Gives a job that does not run another priority. */
  setPriority(id: string, priority: number, who: Actor): Promise<Moved> {
    return this.#move(id, (holdfast, own) => holdfast.setPriority(own, priority, who))
  }

  /** Makes a job that does not run due at another time. */
  reschedule(id: string, time: NewTime, who: Actor): Promise<Moved> {
    return this.#move(id, (holdfast, own) => holdfast.reschedule(own, time, who))
  }

  /** Makes a scheduled job, or one that waits for its next attempt, due at once. */
  runNow(id: string, who: Actor): Promise<Moved> {
    return this.#move(id, (holdfast, own) => holdfast.runNow(own, who))
  }

  /** Ends a job that waits as a dead letter. */
  bury(id: string, who: Actor): Promise<Moved> {
    return this.#move(id, (holdfast, own) => holdfast.bury(own, who))
  }

  /** Removes everything that is kept of a job that has ended. */
  forget(id: string, who: Actor): Promise<Moved> {
    return this.#move(id, (holdfast, own) => holdfast.forget(own, who))
  }

  /** One approval of a job that waits for it. */
  approve(id: string, who: Actor): Promise<Decided> {
    return this.#move(id, (holdfast, own) => holdfast.approve(own, who))
  }

  /** Ends a job that waits for approval as cancelled. */
  reject(id: string, who: Actor & { why: string }): Promise<Decided> {
    return this.#move(id, (holdfast, own) => holdfast.reject(own, who))
  }

  /** Sends a signal to a job. */
  async signal(id: string, name: string, payload?: unknown, options: SignalOptions = {}): Promise<void> {
    const { holdfast, id: own } = await this.locate(id)
    await holdfast.signal(own, name, payload, options)
  }

  async #move<Answer extends { id: string }>(
    id: string,
    move: (holdfast: Holdfast, id: string) => Promise<Answer>,
  ): Promise<Answer> {
    const { member, holdfast, id: own } = await this.locate(id)
    return { ...(await move(holdfast, own)), id: withMember(member, own) }
  }
}
