import { logEntryWithoutSecrets, type Privacy } from '../privacy/privacy.js'
import type { AttemptServices } from '../run/services.js'
import type { LogWriter } from '../settle/log-writer.js'
import type { Store } from '../store/store.js'
import { readTask } from '../workflow/read.js'
import { Checkpoints } from './checkpoints.js'

/** What this worker does for its handlers, wherever they run. Redaction happens here, because a host is not told what is secret. */
export function attemptServices(store: Store, worker: number, privacy: Privacy, logWriter: LogWriter): AttemptServices {
  const checkpoints = new Checkpoints(store.log, privacy)
  return {
    extendLease: ({ lease }, ms) => store.leases.extend(worker, lease, ms),
    log: (job, entry) => logWriter.note(job, job.secrets ? logEntryWithoutSecrets(entry, job.secrets) : entry),
    saveCheckpoint: (job, json) => checkpoints.save(job, json),
    readCheckpoint: (job) => checkpoints.read(job),
    readTask: (job) => readTask(store.executions, privacy, job),
  }
}
