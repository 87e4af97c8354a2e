import { describeJob, type JobStory } from '../history/story.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import type { CallerTransaction } from '../job/caller-transaction.js'
import type { AnyJobType, JobType } from '../job/type.js'
import { asQueryable } from '../store/transaction.js'

/** A job that has not come to an end: waiting, due, running, or failed and waiting for its next attempt. */
export interface EnqueuedJob<Payload = unknown> extends Omit<JobStory, 'attempts' | 'payload'> {
  /** As it was enqueued. */
  payload: Payload
}

/** What a type's payload is to its producers; of a bare name nothing is known. */
export type PayloadOf<Type> = Type extends JobType<infer Input, infer _Output, infer _Result> ? Input : unknown

/** No test reads more than this, and an endless list would hide that something enqueues without end. */
const most = 100_000

export async function readEnqueued<Type extends AnyJobType | string>(
  holdfast: Holdfast,
  type?: Type,
  tx?: CallerTransaction,
): Promise<EnqueuedJob<PayloadOf<Type>>[]> {
  const { store, privacy } = insideOf(holdfast)
  const name = type === undefined ? null : nameOf(type)
  return (await store.inspect.jobsInQueue(name, most, tx && asQueryable(tx))).map(
    (row) => describeJob({ ...row, payload: privacy.decrypt(row.id, row.payload) }) as EnqueuedJob<PayloadOf<Type>>,
  )
}

export function nameOf(type: AnyJobType | string): string {
  return typeof type === 'string' ? type : type.type
}
