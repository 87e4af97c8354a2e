import { HoldfastError, JobEndedError } from '../errors.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { checkJobId } from '../job/id.js'
import { decodePayload } from '../job/payload.js'
import { notA, refused, refuseUnknown } from '../job/refused.js'
import type { JobType } from '../job/type.js'
import { type Privacy, UnreadableError } from '../privacy/privacy.js'
import type { EndedRow } from '../store/wait-store.js'
import type { Waiters } from './waiters.js'

/** How long `wait` waits, and for what. */
export interface WaitOptions<Result = unknown> {
  /**
   * How long to wait, at most 24 days.
   * @range 0 to 24 days
   * @default '1m'
   */
  timeout?: Duration
  /**
   * Gives up when it fires, with its reason.
   * @default none
   */
  signal?: AbortSignal
  /**
   * The type of the job, where only its id is at hand: it says what the result is.
   * @default none: a result is `unknown`
   */
  // biome-ignore lint/suspicious/noExplicitAny: its payload does not matter to whoever waits
  type?: JobType<any, any, Result>
}

const longestMs = 24 * 86_400_000

/** What the handler of a job returned; undefined: nothing, or it is not kept. Throws what the job ended of. */
export async function resultOf(
  waiters: Waiters,
  privacy: Privacy,
  job: string | { id: string },
  options: WaitOptions,
): Promise<unknown> {
  refuseUnknown(options, ['timeout', 'signal', 'type'])
  const { timeout = '1m', signal, type } = options
  const id = typeof job === 'string' ? job : job?.id
  checkJobId(id)
  const ms = toMilliseconds(timeout, 'timeout')
  if (ms > longestMs) throw notA('timeout', timeout, 'at most 24 days')
  const row = await waiters.ended(id.toLowerCase(), ms, signal)
  if (row.status === null) {
    throw new HoldfastError('not_found', `there is no job ${id}; it never existed, or is no longer kept`)
  }
  if (type && row.type !== null && ![type.type, ...type.aliases].includes(row.type)) {
    throw refused('type', `is ${type.type}, but job ${id} is of the type ${row.type}`)
  }
  if (row.status !== 'completed') throw endOf(row)
  return row.result === null ? undefined : decodePayload(readable(privacy, row.result, row))
}

function readable(privacy: Privacy, result: string, { id, type, encrypted }: EndedRow): string {
  try {
    return privacy.decrypt(id, result, 'result', { type: type ?? '', encrypted: encrypted === true })
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error
    throw new HoldfastError('encryption_keys_missing', error.message, { field: 'encryption', cause: error })
  }
}

function endOf({ id, type, status, reason, attempt, error }: EndedRow): JobEndedError {
  const ended = { jobId: id, reason, lastError: error }
  const because = error ? `: ${error.name}: ${error.message}` : ''
  const job = `job ${id} (${type ?? 'of a type that is gone'})`
  if (status === 'cancelled') return new JobEndedError('job_cancelled', `${job} was cancelled${because}`, ended)
  if (status === 'discarded') return new JobEndedError('job_discarded', `${job} ended dead and was discarded${because}`, ended)
  return new JobEndedError('job_dead', `${job} ended dead (${reason}) at attempt ${attempt}${because}`, ended)
}
