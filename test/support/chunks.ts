import { type ChunkContext, type ChunkJob, defineType } from 'holdfast'
import { expect } from 'vitest'
import { z } from 'zod'
import { eventually } from './facts.js'
import type { Queue } from './queue.js'

type Handler = (jobs: readonly ChunkJob<string>[], ctx: ChunkContext) => undefined | unknown[] | Promise<undefined | unknown[]>

export const once = { maxAttempts: 1, limits: { breaker: false } } as const
export const payload = z.string()
export const named = (jobs: readonly ChunkJob<string>[]) => jobs.map((job) => job.payload)

export function chunked(run: Handler, chunk: { size: number; wait?: string }, options: object = once) {
  return defineType({ type: 'chunked', payload, ...options, chunk, run })
}

/** A handler that notes what it is called with and returns when it is let go. */
export function held(options: object = once, chunk: { size: number; wait?: string } = { size: 10 }) {
  const calls: string[][] = []
  const whole: AbortSignal[] = []
  const each = new Map<string, AbortSignal>()
  let letGo: () => void = () => {}
  const free = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const type = chunked(
    async (jobs, { signal }) => {
      calls.push(named(jobs))
      whole.push(signal)
      for (const { payload, ctx } of jobs) each.set(payload, ctx.signal)
      await Promise.race([free, new Promise((resolve) => signal.addEventListener('abort', resolve))])
      return named(jobs)
    },
    chunk,
    options,
  )
  return { type, calls, whole, each, letGo }
}

export const enqueue = ({ holdfast }: Queue, type: ReturnType<typeof chunked>, payloads: string[], options: object[] = []) =>
  holdfast.enqueueMany(payloads.map((payload, at) => type.job(payload, options[at])))
export const outcomes = async ({ holdfast }: Queue, jobs: { id: string }[]) =>
  Promise.all(jobs.map(async ({ id }) => (await holdfast.job(id))?.attempts.map(({ outcome }) => outcome)))
export const statuses = async ({ holdfast }: Queue, jobs: { id: string }[]) =>
  Promise.all(jobs.map(async ({ id }) => (await holdfast.job(id))?.status))
export const claimed = async (queue: Queue, jobs: number) =>
  eventually(async () => (await queue.sql('select from holdfast.queue where lease_id is not null')).length === jobs)
export const noDrift = async (queue: Queue) => expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
