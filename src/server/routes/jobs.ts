import type { FastifyInstance } from 'fastify'
import { HoldfastError } from '../../errors.js'
import type { Attempt, JobStory } from '../../history/story.js'
import type { Holdfast } from '../../holdfast.js'
import { showValue, unstorable } from '../../job/failure.js'
import { didYouMean } from '../../job/nearest.js'
import type { JobOptions } from '../../job/type.js'

/** A job's fields in a request, and what the library calls them. */
const fields = {
  type: 'type',
  payload: 'payload',
  id: 'id',
  priority: 'priority',
  max_attempts: 'maxAttempts',
  delay: 'delay',
  run_at: 'runAt',
  idempotency_key: 'idempotencyKey',
} as const
type Field = keyof typeof fields

export function jobRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  app.post('/jobs', async (request, reply) => {
    const { type, payload, options } = readRequest(request.body)
    const enqueued = await holdfast.enqueue(type, payload, options).catch((error) => {
      throw inOurWords(error)
    })
    return reply
      .status(enqueued.status === 'created' ? 201 : 200)
      .headers({ location: `/jobs/${enqueued.id}`, 'cache-control': 'no-store' })
      .send(enqueued)
  })

  app.get<{ Params: { id: string } }>('/jobs/:id', async (request, reply) => {
    const story = await holdfast.job(request.params.id)
    if (!story) throw new HoldfastError('not_found', `no job ${request.params.id} is kept`, { field: 'id' })
    return reply.header('cache-control', 'no-store').send(storyAnswer(story))
  })
}

function readRequest(body: unknown): { type: string; payload: unknown; options: JobOptions } {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new HoldfastError('invalid_request', 'the body must be one JSON object with type and payload')
  }
  const given = body as Record<string, unknown>
  const known = Object.keys(fields)
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined) throw refused(unknown, `is not a field of a job${didYouMean(unknown, known)}`)
  if (typeof given.type !== 'string' || unstorable.test(given.type)) {
    throw refused('type', `is ${showValue(given.type)}; it must be the name of a job type`)
  }
  if (!Object.hasOwn(given, 'payload')) throw refused('payload', 'is missing; a job without data has the payload {}')
  const options: Record<string, unknown> = {}
  for (const name of Object.keys(given) as Field[]) {
    if (name === 'type' || name === 'payload') continue
    options[fields[name]] = name === 'run_at' ? readTime(given[name]) : given[name]
  }
  return { type: given.type, payload: given.payload, options }
}

/** Without a zone a time means something else on every server, so it is refused. */
const timeWithZone = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i

function readTime(value: unknown): Date {
  const time = typeof value === 'string' && timeWithZone.test(value) ? new Date(value) : undefined
  if (time && !Number.isNaN(time.getTime())) return time
  throw refused('run_at', `is ${showValue(value)}; write a time with its zone, such as 2030-01-31T09:00:00Z`)
}

/** The library names fields as its own callers write them; over HTTP some have another name. */
function inOurWords(error: unknown): unknown {
  if (!(error instanceof HoldfastError)) return error
  const ours = (text: string) => Object.entries(fields).reduce((so, [here, there]) => so.replaceAll(there, here), text)
  const field = error.field === undefined ? {} : { field: ours(error.field) }
  return new HoldfastError(error.code, ours(error.message), { ...field, cause: error })
}

function storyAnswer(story: JobStory) {
  return {
    id: story.id,
    type: story.type,
    status: story.status,
    lane: story.lane,
    priority: story.priority,
    attempt: story.attempt,
    max_attempts: story.maxAttempts,
    payload: story.payload,
    idempotency_key: story.idempotencyKey,
    created_at: story.createdAt,
    due_at: story.dueAt,
    started_at: story.startedAt,
    finished_at: story.finishedAt,
    attempts: story.attempts.map(attemptAnswer),
  }
}

function attemptAnswer({ attempt, outcome, startedAt, endedAt, worker, error }: Attempt) {
  return { attempt, outcome, started_at: startedAt, ended_at: endedAt, worker, error }
}

function refused(field: string, problem: string): HoldfastError {
  return new HoldfastError('invalid_option', `${field} ${problem}`, { field })
}
