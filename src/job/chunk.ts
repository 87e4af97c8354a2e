import { types } from 'node:util'
import { FatalError } from '../errors.js'
import { type Duration, toMilliseconds } from './duration.js'
import { showValue } from './failure.js'
import type { IsolationOptions } from './isolation.js'
import { refused, refuseUnknown, wholeNumber } from './refused.js'
import { type RunContext, Snooze } from './run-context.js'

/** How many jobs one call of a handler takes. */
export interface ChunkOptions {
  /**
   * Most jobs of one call.
   * @range 1 to 1,000
   */
  size: number
  /**
   * How long the first job of a call may wait for others to fill it.
   * @range 0 to 60 s
   * @default 0: the call takes the jobs that are there
   */
  wait?: Duration
}

/** One job of a call. */
export interface ChunkJob<Payload = unknown> {
  readonly payload: Payload
  /** What its handler would get if it ran alone. It cannot sleep and cannot wait for a signal: the call goes on for the others. */
  readonly ctx: Omit<RunContext, 'sleep' | 'waitFor'>
}

/**
 * What is said to a call as a whole. Its signal fires when those of all its jobs have. `return ctx.snooze('10m')` puts all of them off; as
 * an entry of what is returned, it puts off that job.
 */
export type ChunkContext = Pick<RunContext, 'signal' | 'snooze' | 'stop'>

/** What a call returns: a list with an entry for each of its jobs, in their order, or one answer for all. */
export type ChunkAnswer = undefined | Snooze | readonly unknown[]

/** What a handler for chunks may return. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing has this type
export type ChunkReturn = void | ChunkAnswer | Promise<void | ChunkAnswer>

/** What a job of such a call returns, as `run` of one job would: an error that stands in the list is thrown. */
export type EntryOf<Answer> = Answer extends readonly (infer Entry)[]
  ? Exclude<Entry, Error>
  : Answer extends Snooze
    ? Snooze
    : undefined

/** What runs several jobs of a type in one call, whatever their payloads are. */
export type ChunkRun = (jobs: readonly ChunkJob<never>[], context: ChunkContext) => unknown

/** How a type takes several jobs in one call: its definition, checked. */
export interface Chunk {
  readonly size: number
  readonly waitMs: number
  readonly run: ChunkRun
}

const mostJobs = 1_000
const longestWaitMs = 60_000

export function readChunk(
  { chunk, isolation = 'inline' }: { chunk?: ChunkOptions | undefined } & IsolationOptions,
  type: string,
  run: unknown,
): Chunk | undefined {
  if (chunk === undefined) return undefined
  if (typeof chunk !== 'object' || chunk === null)
    throw refused('chunk', `of ${type} is ${showValue(chunk)}; it must be { size, wait }`)
  refuseUnknown(chunk, ['size', 'wait'], ['chunk'])
  if (isolation !== 'inline') {
    const why = 'a thread or process runs one job at a time, so that it can be ended without the others'
    throw refused('chunk', `of ${type} has no use with isolation: '${isolation}': ${why}; leave out one of the two`)
  }
  const size = wholeNumber(chunk.size, 'chunk.size', 1, mostJobs)
  const waitMs = toMilliseconds(chunk.wait ?? 0, 'chunk.wait')
  if (waitMs > longestWaitMs) throw refused('chunk.wait', `of ${type} is more than 60 seconds`)
  return Object.freeze({ size, waitMs, run: run as ChunkRun })
}

/** The handler for a job that runs alone, as in quarantine. */
export function alone(run: ChunkRun, type: string): (payload: unknown, context: RunContext) => Promise<unknown> {
  return async (payload, ctx) => {
    const [answer] = answersOf(await run([{ payload: payload as never, ctx }], ctx), 1, type)
    if (isError(answer)) throw answer
    return answer
  }
}

/** The answer for each job of a call. Fails for good where it is not known whose it is: the work is done, and would be done again. */
export function answersOf(answer: unknown, jobs: number, type: string): readonly unknown[] {
  if (answer === undefined || answer instanceof Snooze) return Array.from({ length: jobs }, () => answer)
  if (Array.isArray(answer) && answer.length === jobs) return answer
  const what = Array.isArray(answer) ? `a list of ${answer.length}` : showValue(answer)
  const right = `a handler with chunk returns nothing, or a list with an entry for each of its jobs, in their order`
  throw new FatalError(`the handler of ${type} was given ${jobs} jobs and returned ${what}; ${right}`)
}

export function isError(answer: unknown): answer is Error {
  return answer instanceof Error || types.isNativeError(answer)
}
