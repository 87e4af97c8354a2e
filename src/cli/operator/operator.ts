import type { ClientAccess } from '../../client/access.js'
import type { ClientAlerts } from '../../client/alerts.js'
import type { ClientBatches } from '../../client/batches.js'
import type { ClientBuilds } from '../../client/builds.js'
import type { ClientBulkActions } from '../../client/bulk.js'
import type { HoldfastClient } from '../../client/client.js'
import type { ClientDeadLetters } from '../../client/dead-letters.js'
import type { ClientEvents } from '../../client/events.js'
import type { ClientExecutions } from '../../client/executions.js'
import type { ClientFlow } from '../../client/flow.js'
import type { ClientSchedules } from '../../client/schedules.js'

/**
 * What the commands need of whoever they are connected to, in the fields of the API, so that they show the same either way. The HTTP client
 * is one as it stands; `DatabaseOperator` is the other.
 */
export interface Operator
  extends Pick<
    HoldfastClient,
    | 'enqueue'
    | 'jobs'
    | 'job'
    | 'explain'
    | 'log'
    | 'signal'
    | 'cancel'
    | 'resume'
    | 'runNow'
    | 'reschedule'
    | 'bury'
    | 'setPriority'
    | 'approve'
    | 'reject'
    | 'forget'
    | 'doctor'
    | 'series'
  > {
  readonly batches: Pick<ClientBatches, 'create' | 'add' | 'list' | 'get' | 'cancel' | 'retry' | 'close'>
  readonly executions: Pick<ClientExecutions, 'start' | 'get' | 'list' | 'tasks' | 'wait' | 'cancel' | 'resume' | 'rerun'>
  readonly schedules: Pick<
    ClientSchedules,
    'create' | 'change' | 'list' | 'get' | 'preview' | 'pause' | 'resume' | 'reset' | 'runNow' | 'backfill' | 'remove' | 'prune'
  >
  readonly deadLetters: Pick<ClientDeadLetters, 'list' | 'get' | 'replay' | 'discard' | 'replayMany' | 'discardMany'>
  readonly flow: Pick<
    ClientFlow,
    | 'workers'
    | 'drainWorker'
    | 'resumeWorker'
    | 'lanes'
    | 'setLane'
    | 'releaseLane'
    | 'releaseType'
    | 'settings'
    | 'setSetting'
    | 'depthLimits'
    | 'limitDepth'
    | 'types'
    | 'pauseType'
    | 'resumeType'
    | 'breaker'
    | 'limit'
    | 'releaseLimits'
    | 'dependencies'
    | 'limitDependency'
    | 'releaseDependency'
    | 'pauseDependency'
    | 'resumeDependency'
    | 'dependencyBreaker'
  > & { readonly builds: Pick<ClientBuilds, keyof ClientBuilds> }
  readonly bulkActions: Pick<ClientBulkActions, keyof ClientBulkActions>
  readonly events: Pick<ClientEvents, 'page'>
  readonly access: Pick<ClientAccess, keyof ClientAccess>
  readonly alerts: Pick<ClientAlerts, keyof ClientAlerts>
}

/** Who acts, and why: what the methods of the client take as `why`, beside who the terminal belongs to. */
export type Acting = (why: string | undefined) => { by: string; from: string; why?: string }
