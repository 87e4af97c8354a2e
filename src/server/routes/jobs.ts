import type { FastifyInstance, FastifyRequest } from 'fastify'
import { onlyOwn } from '../../access/caller.js'
import { bulkAnswer, bulkRequest, enqueuedAnswer, type JobBody, jobRequest as jobBody } from '../../api/jobs.js'
import { wallMs } from '../../clock.js'
import type { Enqueued } from '../../enqueue/enqueue.js'
import { HoldfastError, UniqueConflictError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import type { Path } from '../../issue.js'
import { checkAgainstSchema } from '../../job/check-payload.js'
import { isJobId, timeOfJobId } from '../../job/id.js'
import { callerOf, refuseOtherTypes, spend } from '../auth.js'
import { overHttp } from '../spelling.js'
import { jobRequest } from './job-request.js'

/** Room for a hundred payloads of the largest size and their options. */
const bulkBytes = 8 * 1024 * 1024
const dayMs = 86_400_000
/** A client may try again for as long as ended jobs are kept, and its clock may be wrong. */
const idsFromMs = { past: 7 * dayMs, future: dayMs }

/** To enqueue jobs. */
export function jobRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  app.post<{ Body: JobBody }>(
    '/jobs',
    { schema: { summary: 'Enqueue one job', body: jobBody, response: { 200: enqueuedAnswer, 201: enqueuedAnswer } } },
    async (request, reply) => {
      const { body } = request
      refuseOtherTypes(request, [body.type])
      await checkJob(holdfast, body)
      const [enqueued] = await enqueueOwned(holdfast, request, [body], () => [])
      return reply
        .status(enqueued?.status === 'created' ? 201 : 200)
        .headers({ location: `/jobs/${enqueued?.id}`, 'cache-control': 'no-store' })
        .send(enqueued)
    },
  )

  app.post<{ Body: { jobs: JobBody[]; pace?: number } }>(
    '/jobs/bulk',
    {
      bodyLimit: bulkBytes,
      schema: {
        summary: 'Enqueue up to 100 jobs, all or none',
        body: bulkRequest,
        response: { 200: bulkAnswer, 201: bulkAnswer },
      },
    },
    async (request, reply) => {
      const { jobs, pace } = request.body
      for (const [index, { type }] of jobs.entries()) refuseOtherTypes(request, [type], `jobs[${index}].type`)
      spend(request, jobs.length - 1)
      for (const [index, job] of jobs.entries()) {
        await checkJob(holdfast, job).catch((error) => {
          throw overHttp(error, ['jobs', index])
        })
      }
      const enqueued = await enqueueOwned(holdfast, request, jobs, (error) => pathIn(jobs, error), pace)
      const anyNew = enqueued.some(({ status }) => status === 'created')
      return reply
        .status(anyNew ? 201 : 200)
        .header('cache-control', 'no-store')
        .send({ jobs: enqueued })
    },
  )
}

/** Stores jobs as those of the caller's service, under keys of that service. A client waits for a failover better than a request that is held. */
async function enqueueOwned(
  holdfast: Holdfast,
  request: FastifyRequest,
  jobs: readonly JobBody[],
  pathOf: (error: unknown) => Path,
  pace?: number,
): Promise<Enqueued[]> {
  try {
    const requests = jobs.map((job) => jobRequest(job, request.headers.traceparent))
    const paced = pace === undefined ? {} : { pace }
    return await holdfast.enqueueMany(requests, { owner: callerOf(request).service, retryFor: 0, ...paced })
  } catch (error) {
    throw await asSeenBy(request, holdfast, error, pathOf)
  }
}

/** The error of an enqueue as the caller may see it. If a type shares its keys, the job that has the key may be one the caller may not see. */
export async function asSeenBy(
  request: FastifyRequest,
  holdfast: Holdfast,
  error: unknown,
  pathOf: (error: unknown) => Path,
): Promise<unknown> {
  if (!(error instanceof UniqueConflictError) || error.jobId === undefined) return overHttp(error, pathOf(error))
  const own = onlyOwn(callerOf(request))
  if (own === undefined || (await insideOf(holdfast).store.inspect.job(error.jobId))?.owner === own) return error
  return new UniqueConflictError(undefined, 'another job already has this unique key')
}

/** The index, in its request, of the job that an error is about, if it is about one. The database names an unknown type, not its index. */
export function pathIn(jobs: readonly JobBody[], error: unknown): Path {
  if (!(error instanceof HoldfastError)) return []
  const unknown = error.code === 'unknown_type' ? jobs.findIndex(({ type }) => type === error.issues[0]?.value) : -1
  const index = unknown >= 0 ? unknown : error.index
  return index === undefined ? [] : ['jobs', index]
}

/**
 * Checks the payload against the schema of its type, if this process has the definition; otherwise the database checks it against the stored one. The time in an
 * id must be recent: it decides the partition of the job, which would otherwise be dropped too early, or never.
 */
export async function checkJob(holdfast: Holdfast, { type, payload, id, version }: JobBody): Promise<void> {
  checkTimeOf(id)
  const definition = insideOf(holdfast).types.definitionOf(type)
  if (definition) await checkAgainstSchema(definition, payload, version)
}

/** An id that is none is refused by the library. */
export function checkTimeOf(id: string | undefined): void {
  if (id === undefined || !isJobId(id)) return
  const madeAt = timeOfJobId(id)
  if (madeAt >= wallMs() - idsFromMs.past && madeAt <= wallMs() + idsFromMs.future) return
  const problem = `id was made at ${new Date(madeAt).toISOString()}; it must be from between 7 days ago and a day from now`
  throw new HoldfastError('invalid_option', problem, { field: 'id' })
}

export function ownerAsked(asked: string | undefined, own: string | undefined): string | null {
  if (own !== undefined && asked !== undefined && asked !== own) {
    throw new HoldfastError('forbidden', `the key of ${own} sees its own jobs only`, { field: 'owner' })
  }
  return own ?? asked ?? null
}
