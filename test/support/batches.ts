import { type AnyJobType, defineType } from 'holdfast'
import { eventually } from './facts.js'
import type { Queue } from './queue.js'

/** A type `part`, whose payload says what it does, and a type `done`, whose payload says which callback it is. */
export function types(run: (payload: string, job: string) => unknown = () => {}) {
  const called: string[] = []
  const part = defineType({
    type: 'part',
    maxAttempts: 1,
    run: (payload: unknown, { job }) => run(payload as string, job.id) as never,
  })
  const done = defineType({ type: 'done', run: async (payload: unknown) => void called.push(payload as string) })
  const callbacks = { onSuccess: done.job('success'), onFailure: done.job('failure'), onComplete: done.job('complete') }
  return { part, done, callbacks, called, all: [part, done] as AnyJobType[] }
}

export const ended = (queue: Queue, id: string) =>
  eventually(async () => {
    const batch = await queue.holdfast.batches.get(id)
    return batch?.status !== 'running' && batch
  })
