import { FatalError } from '../../errors.js'
import { describeFailure } from '../../job/failure.js'
import { Snooze } from '../../job/run-context.js'

export const maxResultBytes = 1_048_576

/**
 * Refuses what cannot leave a thread or process as JSON: too large, or no JSON at all. For good, because the work is
 * done and doing it again would return the same. Stops counting at the limit, so that a huge result is not copied first.
 */
export function checkResult(result: unknown): unknown {
  if (result === undefined || result instanceof Snooze) return result
  let left = maxResultBytes
  const spend = (bytes: number): void => {
    left -= bytes
    if (left < 0) throw new FatalError(`the handler returned more than ${maxResultBytes} bytes; store it and return a reference`)
  }
  if (ArrayBuffer.isView(result)) spend(result.byteLength)
  try {
    JSON.stringify(result, (key, value: unknown) => {
      spend(key.length + (typeof value === 'string' ? value.length : 1))
      return value
    })
  } catch (error) {
    if (error instanceof FatalError) throw error
    throw new FatalError(`the handler returned what JSON cannot hold: ${describeFailure(error).message}`)
  }
  return result
}
