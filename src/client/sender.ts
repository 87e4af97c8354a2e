import { monotonicMs, sleep } from '../clock.js'
import { type ErrorCode, errorTable, HoldfastError, UniqueConflictError } from '../errors.js'
import { triedWords } from '../job/retry-for.js'

/** How one request is sent. */
export interface SendOptions {
  /** How much longer than usual its answer may take. */
  waitMs?: number
  /** True: it is not sent again, because a second one would do its work a second time. */
  once?: boolean
  /** Hangs up when it fires. */
  signal?: AbortSignal
  /** For how long it is sent again while the server or its database is away, however often that is. */
  retryForMs?: number
}

/** How the parts of the client send a request until it has an answer. `sent`: how often it was sent. */
export type Send = <Answer>(
  method: string,
  path: string,
  body?: object,
  options?: SendOptions,
) => Promise<{ answer: Answer; sent: number }>

interface Tried<Answer> {
  answer?: Answer
  error?: HoldfastError
}

const longestPauseMs = 30_000
/** A failover is over within seconds: who waits for its end asks about once a second. */
const longestRestMs = 1_000

/** Sends each request until it has an answer that another try would not change. */
export function sender(server: { url: string; key: string; tries: number; timeoutMs: number }): Send {
  return async <Answer>(method: string, path: string, body?: object, options: SendOptions = {}) => {
    const begun = monotonicMs()
    for (let sent = 1; ; sent++) {
      const { answer, error } = await tried<Answer>(server, method, path, body, options)
      if (!error) return { answer: answer as Answer, sent }
      const elapsedMs = monotonicMs() - begun
      const waitedFor = isAway(error) && options.retryForMs !== undefined
      const again = waitedFor ? elapsedMs < (options.retryForMs ?? 0) : sent < server.tries
      if (options.signal?.aborted || (waitedFor && !again)) throw told(error, sent, elapsedMs, options.signal)
      if (!error.retryable || options.once || !again) throw error
      // Not all at the same moment: those who were refused together would come back together.
      const pause = waitedFor ? Math.min(longestRestMs, 50 * 2 ** sent) : (error.retryAfterMs ?? 100 * 2 ** sent)
      await sleep(Math.min(longestPauseMs, pause * (1 + Math.random() / 4)), options.signal ? { signal: options.signal } : {})
      if (options.signal?.aborted) throw told(error, sent, monotonicMs() - begun, options.signal)
    }
  }
}

/** Nobody answered, or the server could not reach its database. */
function isAway({ code }: HoldfastError): boolean {
  return code === 'server_unreachable' || code === 'database_unavailable'
}

function told(error: HoldfastError, tries: number, elapsedMs: number, signal: AbortSignal | undefined): HoldfastError {
  const ended = signal?.aborted ? ", until the caller's signal ended it; it may have been done" : ''
  const message = `${error.message}; ${triedWords(tries, elapsedMs)}${ended}`
  return new HoldfastError(error.code, message, { cause: signal?.aborted ? signal.reason : error })
}

async function tried<Answer>(
  { url, key, timeoutMs }: { url: string; key: string; timeoutMs: number },
  method: string,
  path: string,
  body: object | undefined,
  { waitMs = 0, signal }: SendOptions,
): Promise<Tried<Answer>> {
  try {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal
        ? AbortSignal.any([signal, AbortSignal.timeout(waitMs + timeoutMs)])
        : AbortSignal.timeout(waitMs + timeoutMs),
    })
    const text = await response.text()
    if (response.ok) return { answer: (response.status === 204 ? undefined : JSON.parse(text)) as Answer }
    return { error: problemOf(response, text) }
  } catch (cause) {
    const reason = (cause as Error).cause instanceof Error ? ((cause as Error).cause as Error).message : String(cause)
    return { error: new HoldfastError('server_unreachable', `${url} did not answer: ${reason}`, { cause }) }
  }
}

/** The answer, or undefined where the server keeps nothing of that name for this key. */
export async function orUndefined<Answer>(sending: Promise<{ answer: Answer }>): Promise<Answer | undefined> {
  try {
    return (await sending).answer
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'not_found') return undefined
    throw error
  }
}

/** The server's problem as the error the library would have thrown. Somebody in between may answer something else. */
function problemOf(response: Response, text: string): HoldfastError {
  const { code, detail, field, job_id } = readProblem(text)
  const after = Number(response.headers.get('retry-after') ?? Number.NaN)
  const options = { ...(field === undefined ? {} : { field }), ...(after >= 0 ? { retryAfterMs: after * 1_000 } : {}) }
  if (code === 'unique_conflict') return new UniqueConflictError(job_id, (detail ?? code).replace(/; nothing was stored$/, ''))
  if (code !== undefined && Object.hasOwn(errorTable, code)) return new HoldfastError(code as ErrorCode, detail ?? code, options)
  const said = `the server answered ${response.status}, and not as Holdfast does; check url`
  if (response.status >= 500 || response.status === 429) return new HoldfastError('server_unreachable', said, options)
  return new HoldfastError('invalid_request', said)
}

function readProblem(text: string): { code?: string; detail?: string; field?: string; job_id?: string } {
  try {
    return (JSON.parse(text) ?? {}) as ReturnType<typeof readProblem>
  } catch {
    return {}
  }
}
