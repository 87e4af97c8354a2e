import { logEntryWithoutSecrets, type Privacy } from '../privacy/privacy.js'
import type { InlineServices } from '../run/services.js'
import type { LogWriter } from '../settle/log-writer.js'
import type { Store } from '../store/store.js'
import { readTask } from '../workflow/read.js'
import { Checkpoints } from './checkpoints.js'
import { WorkerSteps } from './steps.js'

/** What this worker does for its handlers, wherever they run. Redaction happens here, because a host is not told what is secret. */
export function attemptServices(store: Store, worker: number, privacy: Privacy, logWriter: LogWriter): InlineServices {
  const checkpoints = new Checkpoints(store.log, privacy)
  const steps = new WorkerSteps(store.log.steps, privacy)
  return {
    extendLease: ({ lease }, ms) => store.leases.extend(worker, lease, ms),
    log: (job, entry) => logWriter.note(job, job.secrets ? logEntryWithoutSecrets(entry, job.secrets) : entry),
    saveCheckpoint: (job, json) => checkpoints.save(job, json),
    readCheckpoint: (job) => checkpoints.read(job),
    readTask: (job) => readTask(store.executions, privacy, job.id),
    async completion({ id, lease, type: { type, encrypt } }, { startedAgoMs, result }) {
      const kept = result !== null && privacy.encrypts(encrypt) ? privacy.encrypt(type, id, result, 'result') : result
      return store.completion.statement(worker, { id, lease }, startedAgoMs, kept)
    },
    completionStands: (job) => store.completion.stands(worker, job),
    transact: (work) => store.completion.transact(work),
    readSteps: (job) => steps.read(job),
    saveStep: (job, step) => steps.save(job, step),
    waitStep: (job, step) => steps.wait(job, step),
  }
}
