import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { allows } from '../../access/caller.js'
import {
  type ClaimBody,
  claimAnswer,
  claimBody,
  type HeartbeatBody,
  heartbeatAnswer,
  heartbeatBody,
  type RegisterBody,
  registerAnswer,
  registerBody,
  type SettleBody,
  type StepBody,
  type StepsBody,
  settleAnswer,
  settleBody,
  signOffAnswer,
  signOffBody,
  stepAnswer,
  stepBody,
  stepsAnswer,
  stepsBody,
  type TaskBody,
  taskAnswer,
  taskBody,
  type VitalsBody,
} from '../../api/worker.js'
import { BackgroundGroup } from '../../background/group.js'
import { FatalError, HoldfastError, LeaseLostError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { checkedActor } from '../../job/actor.js'
import { readBuild } from '../../job/build.js'
import { decodePayload } from '../../job/payload.js'
import type { Meter } from '../../metrics/meter.js'
import { RemoteClaims } from '../../remote/claims.js'
import { decrypted } from '../../remote/decrypted.js'
import { RemoteResults } from '../../remote/results.js'
import { RemoteSteps } from '../../remote/steps.js'
import { type RemoteWorker, RemoteWorkers } from '../../remote/workers.js'
import { explained } from '../../store/sqlstate.js'
import { idleWorkersChore } from '../../upkeep/idle-workers.js'
import { rescueChore } from '../../upkeep/rescue.js'
import { Upkeep } from '../../upkeep/upkeep.js'
import type { Logger } from '../../worker/logger.js'
import { readTask } from '../../workflow/read.js'
import { actor, callerOf, refuseOtherTypes, refuseOwnTypes } from '../auth.js'
import { loggingMonitor } from '../background.js'
import type { Callers } from '../callers.js'
import { refuseIfNoLongerAllowed, whileAllowed } from '../while-allowed.js'
import { claimedJob, settledAnswer, shownStep, storedStep } from './worker-answers.js'
import { defined, leaseOf, readReports, readResult, readStep, typesOf, vitalsOf, waitOf } from './worker-bodies.js'

/** How long a closing server waits for a database that does not answer. */
const stopWithinMs = 5_000
/** Room for a hundred failed results with their stacks. */
const bodyLimit = 2 * 1024 * 1024
/** A hundred results of the size that a type keeps by default, with what stands around them. */
const settleLimit = 8 * 1024 * 1024

/** The protocol of remote workers: register, claim, heartbeat, steps, settle, sign off. docs/worker-protocol.md says how to use it. */
export function workerRoutes(app: FastifyInstance, holdfast: Holdfast, callers: Callers, log: Logger, meter: Meter): void {
  const { store, privacy, wakeUps } = insideOf(holdfast)
  const workers = new RemoteWorkers(store)
  const claims = new RemoteClaims(store, wakeUps)
  const results = new RemoteResults(store, meter, privacy)
  const steps = new RemoteSteps(store, privacy)
  /** The worker of a request. A key for some types cannot touch jobs of others, even with a stolen token. */
  const speaker = async (request: FastifyRequest, token: string, leases?: readonly string[] | null, jobs?: readonly string[]) => {
    const { vitals } = request.body as { vitals?: VitalsBody }
    const worker = await workers.identify(token, vitalsOf(vitals))
    refuseOwnTypes(worker.types.map(({ name }) => name))
    if (leases !== undefined && callerOf(request).types !== undefined) {
      refuseOtherTypes(request, await store.remote.typesHeld(worker.id, leases, jobs ?? null))
    }
    return worker
  }
  const monitor = loggingMonitor(log)
  // A fleet may have no SDK worker that would rescue the jobs of a dead one.
  const upkeep = new Upkeep(
    [rescueChore(store, { everyMs: 3_000, leaseMs: 60_000, crashes: 2 }, () => {}), idleWorkersChore(store)],
    monitor,
  )
  const stage = [claims, upkeep].map((part) => ({ part, stopWithinMs }))
  /** Started by the first remote worker that registers or claims: a server without one has nothing to do here. */
  const background = new BackgroundGroup([stage], monitor)
  // Waiting polls would keep the server from closing.
  app.addHook('preClose', () => background.stop())

  app.post<{ Body: RegisterBody }>(
    '/worker/register',
    { schema: { summary: 'Sign on as a worker', body: registerBody, response: { 201: registerAnswer } } },
    async (request, reply) => {
      const { name, types, host = 'remote', pid = 0, version = 'remote', build, payload_versions: versions = {} } = request.body
      refuseOtherTypes(
        request,
        types.map((type) => (typeof type === 'string' ? type : type.type)),
      )
      const rights = { mayChange: allows(callerOf(request), 'types:manage'), who: checkedActor(actor(request, undefined)) }
      const about = { name, host, pid, version, build: readBuild(build) }
      const made = await workers.register(about, types.map(defined), new Map(Object.entries(versions)), rights)
      background.start()
      return answer(reply.status(201), { worker: made.token, id: made.id, types: made.types })
    },
  )

  app.post<{ Body: ClaimBody }>(
    '/worker/claim',
    { schema: { summary: 'Claim jobs, and wait for them', body: claimBody, response: { 200: claimAnswer } } },
    async (request, reply) => {
      const { body } = request
      const asked = { leaseMs: leaseOf(body.lease), waitMs: waitOf(body.wait) }
      const worker = await speaker(request, body.worker)
      const types = typesOf(worker, body.types)
      refuseOtherTypes(
        request,
        [...types.values()].map((type) => type.name),
      )
      background.start()
      if (body.holding) await store.releaseUnacknowledged(worker.id, body.holding)
      // A server that closes claims nothing more: the worker asks again, and another server answers.
      if (worker.drain || background.stopping) return answer(reply, { jobs: [], ...orders(worker) })
      const gone = new AbortController()
      whenGone(reply, gone)
      const forget = whileAllowed(request, callers, () => gone.abort())
      const ask = { ...asked, types: [...types.keys()], limit: body.limit ?? 1, gone: gone.signal }
      const rows = await claims.claim(worker, ask).finally(forget)
      try {
        if (asked.waitMs > 0) await refuseIfNoLongerAllowed(request, callers)
      } catch (error) {
        await claims.handBack(worker, rows)
        throw error
      }
      if (gone.signal.aborted) {
        await claims.handBack(worker, rows)
        return answer(reply, { jobs: [], ...orders(worker) })
      }
      const checkpoints = rows.length > 0 ? await store.remote.checkpoints(rows.map(({ id }) => id)) : new Map<string, string>()
      const { read, unread } = decrypted(privacy, rows, types, checkpoints)
      await claims.endUnreadable(worker, unread)
      for (const { row } of read) meter.began(types.get(row.type)?.name ?? '', row.priority, row.waited)
      const jobs = read.map(({ row, checkpoint }) => claimedJob(row, types.get(row.type), checkpoint))
      return answer(reply, { jobs, ...orders(worker) })
    },
  )

  app.post<{ Body: HeartbeatBody }>(
    '/worker/heartbeat',
    { bodyLimit, schema: { summary: 'Renew leases, and hear orders', body: heartbeatBody, response: { 200: heartbeatAnswer } } },
    async (request, reply) => {
      const { body } = request
      const ms = body.lease === undefined ? null : leaseOf(body.lease)
      const reports = readReports(body.reports)
      const worker = await speaker(request, body.worker, [...body.leases, ...reports.map(({ lease }) => lease)])
      const { held, cancelled } = await results.beat(worker, body.leases, ms, vitalsOf(body.vitals))
      const unrecorded = await results.note(worker, reports)
      const lost = body.leases.filter((lease) => !held.includes(lease))
      return answer(reply, { lost, cancelled, unrecorded, ...orders(worker) })
    },
  )

  app.post<{ Body: SettleBody }>(
    '/worker/settle',
    {
      bodyLimit: settleLimit,
      schema: { summary: 'End attempts, many at once', body: settleBody, response: { 200: settleAnswer } },
    },
    async (request, reply) => {
      const { body } = request
      const ended = body.results.map((result, i) => readResult(result, `results[${i}]`))
      const reports = readReports(body.reports)
      const jobs = [...ended, ...reports].map(({ job }) => job)
      const worker = await speaker(request, body.worker, null, jobs)
      // Before the settle: afterwards the lease is gone.
      await results.note(worker, reports)
      return answer(reply, { results: (await results.settle(worker, ended)).map(settledAnswer), ...orders(worker) })
    },
  )

  app.post<{ Body: TaskBody }>(
    '/worker/task',
    {
      schema: {
        summary: 'What the parents of a claimed task returned, and its execution',
        body: taskBody,
        response: { 200: taskAnswer },
      },
    },
    async (request, reply) => {
      const { worker: token, job, lease } = request.body
      const worker = await speaker(request, token, [lease], [job])
      const held = await store.remote.typesHeld(worker.id, [lease], [job])
      if (held.length === 0) throw new LeaseLostError(job)
      const task = await readTask(store.executions, privacy, job).catch((error) => {
        // Another server may have the keys.
        throw error instanceof FatalError ? new HoldfastError('encryption_keys_missing', error.message) : explained(error)
      })
      if (!task) throw new HoldfastError('not_found', `job ${job} is no task of an execution`, { field: 'job' })
      const { execution: id, workflow, name, item, input, parents } = task
      const returned = Object.entries(parents).map(([parent, text]) => [parent, decodePayload(text ?? 'null')])
      const execution = { id, workflow, task: name, item, input: decodePayload(input) }
      return answer(reply, { execution, parents: Object.fromEntries(returned) })
    },
  )

  app.post<{ Body: StepsBody }>(
    '/worker/steps',
    { schema: { summary: 'Read the steps of a job', body: stepsBody, response: { 200: stepsAnswer } } },
    async (request, reply) => {
      const { body } = request
      const attempt = { job: body.job.toLowerCase(), lease: body.lease }
      const worker = await speaker(request, body.worker, null, [attempt.job])
      return answer(reply, { steps: (await steps.read(worker, attempt)).map(storedStep) })
    },
  )

  app.post<{ Body: StepBody }>(
    '/worker/step',
    { schema: { summary: 'Store a step, sleep, or wait for a signal', body: stepBody, response: { 200: stepAnswer } } },
    async (request, reply) => {
      const { body } = request
      const { called, waits, result, ms } = readStep(body)
      const attempt = { job: body.job.toLowerCase(), lease: body.lease }
      const worker = await speaker(request, body.worker, null, [attempt.job])
      return answer(
        reply,
        shownStep(await (waits ? steps.wait(worker, attempt, called, ms) : steps.save(worker, attempt, called, result))),
      )
    },
  )

  app.post<{ Body: { worker: string } }>(
    '/worker/sign-off',
    { schema: { summary: 'End a worker, and free what it holds', body: signOffBody, response: { 200: signOffAnswer } } },
    async (request, reply) => {
      const worker = await speaker(request, request.body.worker, null)
      return answer(reply, { handed_back: await workers.signOff(worker) })
    },
  )
}

function answer(reply: FastifyReply, body: object): FastifyReply {
  return reply.header('cache-control', 'no-store').send(body)
}

function orders({ drain, why }: RemoteWorker) {
  return { drain: drain ? { why } : null }
}

/** Fires when the client hangs up before the answer was sent. */
function whenGone(reply: FastifyReply, gone: AbortController): void {
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
}
