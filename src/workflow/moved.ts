import { HoldfastError } from '../errors.js'
import { isJobId } from '../job/id.js'
import { refused, refuseUnknown } from '../job/refused.js'
import type { MovedExecutionRow } from '../store/execution-store.js'
import type { ExecutionOwner } from './look.js'
import type { ExecutionStatus } from './story.js'

/** What became of an execution. `done` is false where nothing was changed; `because` says why. */
export interface MovedExecution {
  id: string
  done: boolean
  was: ExecutionStatus
  status: ExecutionStatus
  because?: string
}

export function ownerIn(options: ExecutionOwner): ExecutionOwner {
  refuseUnknown(options, ['owner'])
  return options
}

export function movedOf(id: string, row: MovedExecutionRow | undefined): MovedExecution {
  if (!row) throw noExecution(id)
  const { because, ...moved } = row
  return { ...moved, ...(because === null ? {} : { because }) }
}

export function noExecution(id: string): HoldfastError {
  return new HoldfastError('not_found', `no execution ${id} is kept`, { field: 'id' })
}

export function checkId(id: unknown): void {
  if (!isJobId(id as string)) throw refused('id', `is ${JSON.stringify(id)}; the id of an execution is a UUIDv7`)
}
