import { HoldfastError } from '../errors.js'
import { encodeApproval, readApproval } from '../job/approval.js'
import { checkAgainstSchema } from '../job/check-payload.js'
import { Checker } from '../job/checker.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { isJobId, newJobId } from '../job/id.js'
import { didYouMean } from '../job/nearest.js'
import { encodePayload } from '../job/payload.js'
import { option, refused, says, wholeNumber } from '../job/refused.js'
import { readTags } from '../job/tags.js'
import { storableText, unstorable } from '../job/text.js'
import type { AnyJobType, JobRequest } from '../job/type.js'
import { checkFields, readUnique, type Uniqueness } from '../job/unique.js'
import { readWebhook } from '../job/webhook.js'
import type { StoredWebhook } from '../store/new-job.js'
import type { NewJob } from '../store/store.js'
import { isTraceparent } from '../tracing/traceparent.js'

const known = [
  'type',
  'payload',
  'version',
  'id',
  'priority',
  'maxAttempts',
  'delay',
  'runAt',
  'startBy',
  'expireIn',
  'idempotencyKey',
  'concurrencyKey',
  'approval',
  'unique',
  'traceparent',
  'tags',
  'webhook',
]
const longestDelayMs = 5 * 365 * 86_400_000
const msToday = 86_400_000

/** Checks all of the requests and brings them into the form they are stored in. Throws before anything is written. */
export function prepareAll(requests: readonly JobRequest[]): NewJob[] | Promise<NewJob[]> {
  // Only a schema can be asynchronous. Without one a thousand jobs need not wait for a thousand promises.
  return requests.some((request) => definitionOf(request)?.schema)
    ? Promise.all(requests.map((request, index) => prepareBySchema(request).catch((error) => refuseAt(index, request, error))))
    : requests.map((request, index) => {
        try {
          return prepare(request)
        } catch (error) {
          return refuseAt(index, request, error)
        }
      })
}

/**
 * Of many jobs, the one that is wrong is named. The check stops at the first problem, so that a job without any costs nothing more; only
 * here, where there is one, it is done again to the end.
 */
function refuseAt(index: number, request: JobRequest, error: unknown): never {
  if (!(error instanceof HoldfastError)) throw error
  const all = error.code === 'invalid_option' || error.code === 'invalid_payload' ? everyProblem(request, error) : error
  all.index = index
  throw all
}

function everyProblem(request: JobRequest, first: HoldfastError): HoldfastError {
  const check = new Checker()
  const payload = check.read(() => encodePayload(request.payload), undefined)
  check.known(request, known)
  for (const part of parts) check.read(() => part(request), undefined)
  if (payload !== undefined) check.read(() => unique(request, definitionOf(request), payload), undefined)
  return check.count > 1 ? check.problem(first.code, 'the job has problems') : first
}

/** What is checked by itself; `described` does the same on its way. */
const parts: readonly ((request: JobRequest) => unknown)[] = [
  ({ id }) => brought(id),
  ({ type }) => typeof type === 'string' && storableText(type, 'type'),
  ({ version }) => version === undefined || wholeNumber(version, 'version', 1, 32_767),
  ({ priority }) => priority === undefined || wholeNumber(priority, 'priority', 0, 9),
  ({ maxAttempts }) => maxAttempts === undefined || wholeNumber(maxAttempts, 'maxAttempts', 1, 20),
  ({ idempotencyKey }) => key(idempotencyKey, 'idempotencyKey'),
  ({ concurrencyKey }) => key(concurrencyKey, 'concurrencyKey'),
  ({ approval }) => readApproval(approval),
  ({ traceparent }) => trace(traceparent),
  ({ tags }) => readTags(tags),
  (request) => webhook(request),
  (request) => (request.delay === undefined && request.runAt === undefined) || dueTime(request),
  (request) => (request.startBy === undefined && request.expireIn === undefined) || startTime(request),
]

async function prepareBySchema(request: JobRequest): Promise<NewJob> {
  checkOptions(request)
  const payload = encodePayload(request.payload)
  const definition = definitionOf(request)
  if (definition?.schema) await checkAgainstSchema(definition, request.payload, request.version)
  return described(request, payload)
}

function prepare(request: JobRequest): NewJob {
  checkOptions(request)
  return described(request, encodePayload(request.payload))
}

function checkOptions(request: JobRequest): void {
  for (const key of Object.keys(request)) {
    if (!known.includes(key)) throw refused(key, `is not an option of a job${didYouMean(key, known)}`)
  }
}

function definitionOf({ type }: JobRequest): AnyJobType | undefined {
  return typeof type === 'string' ? undefined : type
}

function described(request: JobRequest, payload: string): NewJob {
  const definition = definitionOf(request)
  const job: NewJob = {
    id: brought(request.id) ?? newJobId(),
    brought: request.id !== undefined,
    type: definition?.type ?? storableText(String(request.type), 'type'),
    payload,
    unchecked: definition === undefined,
    version: request.version === undefined ? (definition?.version ?? null) : wholeNumber(request.version, 'version', 1, 32_767),
    priority: request.priority === undefined ? (definition?.priority ?? null) : wholeNumber(request.priority, 'priority', 0, 9),
    maxAttempts:
      request.maxAttempts === undefined
        ? (definition?.maxAttempts ?? null)
        : wholeNumber(request.maxAttempts, 'maxAttempts', 1, 20),
    idempotencyKey: key(request.idempotencyKey, 'idempotencyKey'),
    concurrencyKey: key(request.concurrencyKey, 'concurrencyKey'),
    approval: encodeApproval(readApproval(request.approval) ?? definition?.approval),
    unique: unique(request, definition, payload),
    traceparent: trace(request.traceparent),
    tags: readTags(request.tags),
    webhook: request.webhook === undefined ? null : webhook(request),
    delayMs: null,
    runAt: null,
    startBy: null,
    expireInMs: null,
  }
  if (request.delay !== undefined || request.runAt !== undefined) Object.assign(job, dueTime(request))
  if (request.startBy !== undefined || request.expireIn !== undefined) Object.assign(job, startTime(request))
  return job
}

function brought(id: string | undefined): string | undefined {
  if (id === undefined || isJobId(id)) return id?.toLowerCase()
  throw refused('id', says`is ${JSON.stringify(id)}; it must be a UUIDv7. For a key of your own use ${option('idempotencyKey')}`)
}

function key(key: unknown, field: string): string | null {
  if (key === undefined) return null
  if (typeof key === 'string' && key.length >= 1 && key.length <= 500 && !unstorable.test(key)) return key
  throw refused(field, 'must be a string of 1 to 500 characters without NUL')
}

export function trace(given: unknown): string | null {
  if (given === undefined) return null
  if (typeof given === 'string' && isTraceparent(given)) return given
  throw refused('traceparent', 'must be a W3C traceparent, such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
}

/** Its address is checked where the allowed hosts are known, and its secrets are encrypted there. */
function webhook(request: JobRequest): StoredWebhook | null {
  const read = readWebhook(request.webhook, `a job of ${definitionOf(request)?.type ?? request.type}`)
  return read ? { url: read.url, kinds: read.on, secrets: read.secrets } : null
}

function unique(request: JobRequest, definition: AnyJobType | undefined, payload: string): Uniqueness | false | null {
  const read = request.unique === undefined ? (definition?.unique ?? null) : readUnique(request.unique)
  if (!read) return read
  if (read.delay && (request.delay ?? request.runAt) !== undefined) {
    throw refused('unique.delay', says`says when a debounced job is due; leave out ${option('delay')} and ${option('runAt')}`)
  }
  // Refused here and not by the database, where the error would abort the caller's transaction.
  checkFields(read, payload)
  return read
}

function dueTime({ delay, runAt }: JobRequest): { delayMs: number | null; runAt: string | null } {
  if (delay !== undefined && runAt !== undefined) throw refused('delay', says`and ${option('runAt')} exclude each other`)
  if (runAt !== undefined) return { delayMs: null, runAt: timeOf(runAt, 'runAt') }
  return { delayMs: durationOf(delay, 'delay'), runAt: null }
}

/** Refuses what could never start. Where one side is a time and the other a duration, only the database's clock could tell. */
function startTime(request: JobRequest): { startBy: string | null; expireInMs: number | null } {
  const { startBy, expireIn, runAt, delay } = request
  if (startBy !== undefined && expireIn !== undefined)
    throw refused('startBy', says`and ${option('expireIn')} exclude each other`)
  if (startBy !== undefined) {
    const time = timeOf(startBy, 'startBy')
    if (runAt !== undefined && startBy <= runAt) throw refused('startBy', says`must be later than ${option('runAt')}`)
    return { startBy: time, expireInMs: null }
  }
  const expireInMs = durationOf(expireIn, 'expireIn')
  if (expireInMs < 1) throw refused('expireIn', 'must be at least 1 ms')
  if (delay !== undefined && expireInMs <= toMilliseconds(delay, 'delay')) {
    throw refused('expireIn', says`must be longer than ${option('delay')}`)
  }
  return { startBy: null, expireInMs }
}

function timeOf(time: unknown, field: string): string {
  if (!(time instanceof Date) || Number.isNaN(time.getTime())) throw refused(field, 'must be a valid Date')
  const year = time.getUTCFullYear()
  if (year < 2000 || year > 2199) throw refused(field, `lies in the year ${year}; it must lie between 2000 and 2199`)
  return time.toISOString()
}

function durationOf(duration: Duration | undefined, field: string): number {
  const ms = toMilliseconds(duration, field)
  if (ms > longestDelayMs) throw refused(field, `is ${Math.round(ms / msToday)} days; at most five years are allowed`)
  return ms
}
