/**
 * What the compiler must know. Nothing in `neverRun` is run; `npm run types` checks the whole file, and fails both when a
 * line does not compile and when a directive has no error below it to expect.
 */
import { type } from 'arktype'
import {
  type AttemptOutcome,
  type ChunkContext,
  type ChunkJob,
  defineType,
  type Holdfast,
  type JobRequest,
  type JobStatus,
  type JobType,
  type RunContext,
} from 'holdfast'
import type { ScratchQueue } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import * as v from 'valibot'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const transforming = defineType({
  type: 'transforming',
  payload: z.object({ at: z.string().transform((text) => new Date(text)), times: z.number().default(1) }),
  run(payload, ctx) {
    expectTypeOf(payload).toEqualTypeOf<{ at: Date; times: number }>()
    expectTypeOf(ctx).toEqualTypeOf<RunContext>()
  },
})
const valibot = defineType({ type: 'valibot', payload: v.object({ n: v.number() }) })
const arktype = defineType({ type: 'arktype', payload: type({ 'n?': 'number' }) })
const anything = defineType({ type: 'anything' })
const returning = defineType({
  type: 'returning',
  payload: z.object({ n: z.number() }),
  run: async ({ n }, { snooze }) => (n < 0 ? snooze('1m') : { doubled: 2 * n }),
})
const chunked = defineType({
  type: 'chunked',
  payload: z.object({ at: z.string().transform((text) => new Date(text)) }),
  chunk: { size: 10 },
  async run(jobs, ctx) {
    expectTypeOf(jobs).toEqualTypeOf<readonly ChunkJob<{ at: Date }>[]>()
    expectTypeOf(ctx).toEqualTypeOf<ChunkContext>()
    if (jobs.length > 5) return ctx.snooze('1m')
    return jobs.map(({ payload, ctx }) => {
      if (payload.at.getTime() < 0) return new Error('too early')
      return ctx.job.attempt > 1 ? ctx.snooze('1m') : { year: payload.at.getFullYear() }
    })
  },
})
const silent = defineType({ type: 'silent', chunk: { size: 10, wait: '1s' }, run: async () => {} })
const unkept = defineType({ type: 'unkept', chunk: { size: 10 }, keepResult: false, run: (jobs) => jobs.map(() => 7) })
const declared = defineType({ type: 'declared', payload: z.object({ n: z.number() }), chunk: { size: 10 } })
const ignored = defineType({ type: 'ignored', keepResult: false, run: () => 7 })

expectTypeOf(returning).toEqualTypeOf<JobType<{ n: number }, { n: number }, { doubled: number }>>()
expectTypeOf(chunked).toEqualTypeOf<JobType<{ at: string }, { at: Date }, { year: number }>>()
expectTypeOf(silent).toEqualTypeOf<JobType<unknown, unknown, undefined>>()
expectTypeOf(unkept).toEqualTypeOf<JobType<unknown, unknown, undefined>>()
expectTypeOf(declared).toEqualTypeOf<JobType<{ n: number }, { n: number }, unknown>>()
expectTypeOf(ignored).toEqualTypeOf<JobType<unknown, unknown, undefined>>()

async function neverRun(holdfast: Holdfast, queue: ScratchQueue): Promise<void> {
  const story = await holdfast.job('id')
  expectTypeOf(story?.status).toEqualTypeOf<JobStatus | undefined>()
  expectTypeOf(story?.attempts[0]?.outcome).toEqualTypeOf<AttemptOutcome | undefined>()
  expectTypeOf((await holdfast.explain('id'))?.status).toEqualTypeOf<JobStatus | 'unknown' | undefined>()
  // @ts-expect-error The inside is not for users.
  holdfast.store
  // @ts-expect-error The inside is not for users.
  holdfast.types

  // @ts-expect-error One result cannot be that of several jobs.
  defineType({ type: 'one_for_all', chunk: { size: 10 }, run: () => ({ n: 1 }) })
  // @ts-expect-error A chunk has a size.
  defineType({ type: 'sizeless', chunk: {}, run: () => [] })
  const { year } = await holdfast.wait(await holdfast.enqueue(chunked, { at: '2030-01-01' }))
  expectTypeOf(year).toEqualTypeOf<number>()
  // @ts-expect-error The input is a text; the Date is what the handler gets.
  await holdfast.enqueue(chunked, { at: new Date() })
  await startWorker(holdfast, [chunked, silent])
  await holdfast.enqueue(transforming, { at: '2030-01-01' })
  await holdfast.enqueue(transforming, { at: '2030-01-01', times: 2 }, { delay: '1h', idempotencyKey: 'k' })
  // @ts-expect-error The input is a text; the Date is what the handler gets.
  await holdfast.enqueue(transforming, { at: new Date() })
  // @ts-expect-error A field is missing.
  await holdfast.enqueue(transforming, {})
  // @ts-expect-error There is no such field.
  await holdfast.enqueue(transforming, { at: '', subject: '' })
  // @ts-expect-error There is no such option.
  await holdfast.enqueue(transforming, { at: '' }, { prio: 1 })
  // @ts-expect-error A time is a Date.
  await holdfast.enqueue(transforming, { at: '' }, { runAt: '2030-01-01' })

  await holdfast.enqueue(valibot, { n: 1 })
  // @ts-expect-error A text is no number.
  await holdfast.enqueue(valibot, { n: '1' })
  await holdfast.enqueue(arktype, {})
  // @ts-expect-error A text is no number.
  await holdfast.enqueue(arktype, { n: '1' })
  await holdfast.enqueue(anything, { whatever: [1] })
  await holdfast.enqueue('by_name', { whatever: [1] })

  const requests: JobRequest[] = [transforming.job({ at: '' }), valibot.job({ n: 1 }, { priority: 9 })]
  const answers = await holdfast.enqueueMany(requests)
  expectTypeOf(answers[0]?.status).toEqualTypeOf<
    'created' | 'existing' | 'replaced' | 'debounced' | 'queued_behind' | undefined
  >()
  const job = await holdfast.enqueue(returning, { n: 1 })
  expectTypeOf(await holdfast.wait(job)).toEqualTypeOf<{ doubled: number }>()
  expectTypeOf(await holdfast.wait(job.id)).toEqualTypeOf<unknown>()
  expectTypeOf(await holdfast.wait(job.id, { type: returning })).toEqualTypeOf<{ doubled: number }>()
  expectTypeOf(await holdfast.wait(await holdfast.enqueue(ignored, {}))).toEqualTypeOf<undefined>()
  // @ts-expect-error A request is as typed as an enqueue.
  transforming.job({ at: 1 })

  await startWorker(holdfast, [transforming, valibot, arktype, anything, returning, ignored])
  // @ts-expect-error A worker is given types, not their names.
  await startWorker(holdfast, ['transforming'])

  defineType({
    type: 'checked',
    payload: z.object({ n: z.number() }),
    // @ts-expect-error The handler's payload is what the schema gives.
    run: (payload: { n: string }) => payload,
  })
  // @ts-expect-error A schema is needed, not a class.
  defineType({ type: 'no_schema', payload: Date })

  const jobs = await queue.enqueued(transforming)
  expectTypeOf(jobs[0]?.payload).toEqualTypeOf<{ at: string; times?: number | undefined } | undefined>()
  await queue.assertEnqueued(transforming, { times: 1 })
  // @ts-expect-error The part of the payload is typed, too.
  await queue.assertEnqueued(transforming, { times: '1' })
}

test('the lines above are checked by the compiler and never run', () => {
  expect(neverRun).toBeTypeOf('function')
})
