import { sleep } from '../clock.js'
import { FatalError, RetryableError } from '../errors.js'
import { type Duration, formatDuration, toMilliseconds } from '../job/duration.js'
import { describeFailure } from '../job/failure.js'
import { encodePayload } from '../job/payload.js'
import { refused, refuseUnknown, wholeNumber } from '../job/refused.js'
import { type Backoff, type BackoffFunction, readBackoff, retryDelay } from '../job/retry.js'
import type { StepInHand, StepOptions } from '../job/steps.js'

/** How one step is run, checked. */
export interface StepSettings {
  attempts: number
  backoff: Backoff | BackoffFunction
  timeoutMs: number | null
}

/** Between the tries of one step a slot is held, so they follow each other faster than the attempts of a job. */
const betweenTries = { base: '1s', factor: 2, cap: '30s', jitter: '500ms' } as const

export function readStepOptions(name: string, options: StepOptions = {}): StepSettings {
  const path = ['step', name]
  refuseUnknown(options, ['retry', 'timeout'], path)
  const { retry = 1, timeout } = options
  const { attempts, backoff } = typeof retry === 'object' ? retry : { attempts: retry, backoff: undefined }
  return {
    attempts: wholeNumber(attempts, [...path, 'retry'], 1, 20),
    backoff: readBackoff(backoff ?? betweenTries),
    timeoutMs: timeout === undefined ? null : readTimeout(timeout, `step.${name}.timeout`),
  }
}

/** As long as that of a type at most; a timer of Node that is longer than 24 days ends at once. */
function readTimeout(timeout: Duration, field: string): number {
  const ms = toMilliseconds(timeout, field)
  if (ms >= 1 && ms <= 7 * 86_400_000) return ms
  throw refused(field, 'must lie between 1 ms and 7 days')
}

/** Runs the function of a step, again where it may be tried again. Rejects with the error of its last try. */
export async function runStep<Result>(
  name: string,
  run: (step: StepInHand) => Result | Promise<Result>,
  { attempts, backoff, timeoutMs }: StepSettings,
  signal: AbortSignal,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await (timeoutMs === null ? run({ signal, attempt }) : inTime(name, run, attempt, timeoutMs, signal))
    } catch (error) {
      if (attempt >= attempts || signal.aborted || error instanceof FatalError) throw error
      const asked = error instanceof RetryableError && error.after !== undefined ? error.after : undefined
      const { delay } = retryDelay(attempt, backoff, describeFailure(error), Math.random)
      await sleep(asked === undefined ? delay : toMilliseconds(asked, 'after'), { signal })
      if (signal.aborted) throw error
    }
  }
}

async function inTime<Result>(
  name: string,
  run: (step: StepInHand) => Result | Promise<Result>,
  attempt: number,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Result> {
  const late = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new Error(`step "${name}" took longer than its timeout of ${formatDuration(timeoutMs)}`)
      error.name = 'TimeoutError'
      // First, so that what the function answers to its signal comes second.
      reject(error)
      late.abort(error)
    }, timeoutMs)
  })
  try {
    const ran = run({ signal: AbortSignal.any([signal, late.signal]), attempt })
    return await Promise.race([ran, timedOut])
  } finally {
    clearTimeout(timer)
  }
}

/** What a step returned, as JSON; null: nothing. What cannot be stored fails the job for good, since the next try would return the same. */
export function encodeStepResult(name: string, value: unknown): string | null {
  if (value === undefined) return null
  let text: string
  try {
    text = encodePayload(value, `the result of step "${name}"`)
  } catch (error) {
    throw new FatalError(describeFailure(error).message, { cause: error })
  }
  if (!text.startsWith('{"$enc"')) return text
  throw new FatalError(`the result of step "${name}" begins with the field "$enc", which stands for what is encrypted`)
}
