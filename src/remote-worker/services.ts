import { HoldfastError, LeaseLostError } from '../errors.js'
import type { ClaimedJob } from '../job/claimed.js'
import { decodePayload } from '../job/payload.js'
import type { StepPosition } from '../job/steps.js'
import type { AttemptServices } from '../run/services.js'
import type { LogWriter } from '../settle/log-writer.js'
import { isLost, type RemoteStepAnswer, type WorkerCalls } from './calls.js'

const shortestLeaseMs = 1_000

/** What a remote worker does for its handlers, over HTTP. `checkpoints`: what the claims brought, by job. */
export function remoteServices(calls: WorkerCalls, logWriter: LogWriter, checkpoints: Map<string, string>): AttemptServices {
  return {
    extendLease: ({ lease }, ms) => calls.extend(lease, Math.max(shortestLeaseMs, ms)),
    log: (job, entry) => logWriter.note(job, entry),
    async saveCheckpoint({ id, lease }, json) {
      const unrecorded = await calls.report([{ job: id, lease, checkpoint: decodePayload(json) }])
      if (unrecorded.includes(id)) return false
      checkpoints.set(id, json)
      return true
    },
    readCheckpoint: async ({ id }) => checkpoints.get(id) ?? null,
    completion: () => Promise.reject(noDatabase()),
    completionStands: () => Promise.reject(noDatabase()),
    async readSteps(job) {
      const steps = await asHeld(job, () => calls.steps(heldOf(job)))
      return steps.map(({ name, kind, state, position, after, done, ...step }) => {
        return { name, kind, state, position, after, done, result: resultIn(step) }
      })
    },
    async saveStep(job, step) {
      const result = step.result === null ? {} : { result: decodePayload(step.result) }
      return heldAs(() => calls.step({ ...positionOf(job, step), ...result }))
    },
    async waitStep(job, step) {
      try {
        const duration = step.ms === null ? {} : { duration: step.ms }
        const answer = await calls.step({ ...positionOf(job, step), ...duration })
        return { held: true, state: answer.state, result: resultIn(answer), left: answer.left_ms ?? null }
      } catch (error) {
        if (!isLost(error)) throw error
        return { held: false, state: null, result: null, left: null }
      }
    },
    async readTask(job) {
      try {
        const { execution, parents } = await asHeld(job, () => calls.task(heldOf(job)))
        const returned = Object.entries(parents).map(([name, value]) => [name, value === null ? null : JSON.stringify(value)])
        const { id, workflow, task: name, item, input } = execution
        return { ...{ execution: id, workflow, name, item }, input: JSON.stringify(input), parents: Object.fromEntries(returned) }
      } catch (error) {
        if (error instanceof HoldfastError && error.code === 'not_found') return null
        throw error
      }
    },
  }
}

function heldOf({ id, lease }: ClaimedJob): { job: string; lease: string } {
  return { job: id, lease }
}

function positionOf(job: ClaimedJob, { name, kind, after, done }: StepPosition) {
  return { ...heldOf(job), name, kind, done, ...(after === null ? {} : { after }) }
}

function resultIn(step: Pick<RemoteStepAnswer, 'result'>): string | null {
  return step.result === undefined ? null : JSON.stringify(step.result)
}

/** What a handler reads, rejected as everywhere where its lease is lost. */
async function asHeld<Answer>(job: ClaimedJob, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    throw isLost(error) ? new LeaseLostError(job.id) : error
  }
}

async function heldAs(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call()
    return true
  } catch (error) {
    if (isLost(error)) return false
    throw error
  }
}

function noDatabase(): HoldfastError {
  const message =
    'a remote worker has no way to the database, so a job cannot end in a transaction there; return the result instead'
  return new HoldfastError('unknown_transaction', message, { field: 'tx' })
}
