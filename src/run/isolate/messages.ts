import type { Failure } from '../../job/failure.js'
import type { Outcome } from '../../job/outcome.js'
import type { ServiceName } from '../services.js'

/** A claimed job on its way to the thread or process that runs it. Plain JSON: the payload stays the text it is stored as. */
export interface JobAcross {
  id: string
  lease: string
  lane: number
  type: string
  priority: number
  attempt: number
  maxAttempts: number
  createdAtMs: number
  payload: string | null
  unreadable?: string
  traceparent?: string | null
  scheduledForMs?: number | null
  version?: number
}

export type GiveUp = 'timed_out' | 'handed_back' | 'cancelled' | 'lease_lost'

/** From the worker to a host (a thread or process that runs one job at a time). */
export type ToHost =
  | { kind: 'run'; job: JobAcross }
  /** The attempt is given up: its signal fires. */
  | { kind: 'giveUp'; why: GiveUp }
  /** What a service answered to that call of the handler's. `problem`: the database could not be asked. */
  | { kind: 'answer'; call: number; value: unknown; problem?: string }

/** From a host to the worker. */
export type FromHost =
  | { kind: 'ready' }
  /** The module with the handlers could not be loaded; the host is of no use. */
  | { kind: 'broken'; failure: Failure }
  /** The attempt has ended. Not `clean`: something of it may still be running, so the host must not be used again. */
  | { kind: 'ended'; outcome: Outcome; clean: boolean; memoryMb: number }
  /** The handler of an attempt that was given up came to its end. */
  | { kind: 'returned'; clean: boolean; memoryMb: number }
  /** The handler calls a service of the worker. Null: it waits for no answer. */
  | { kind: 'call'; call: number | null; service: ServiceName; argument: unknown }

/** How a host came to its end. */
export type HostEnd =
  | { how: 'exited'; code: number }
  | { how: 'signalled'; signal: string }
  | { how: 'out_of_memory'; detail: string }
  | { how: 'failed'; failure: Failure }
  /** Its supervisor died while several jobs ran there; which of them did it cannot be known from outside. */
  | { how: 'supervisor_died'; end: Exclude<HostEnd, { how: 'supervisor_died' }> }

/** From the worker to a supervisor (a process that holds the threads of one type). */
export type ToSupervisor =
  | { kind: 'open'; host: number }
  | { kind: 'tell'; host: number; message: ToHost }
  | { kind: 'close'; host: number }

export type FromSupervisor = { kind: 'told'; host: number; message: FromHost } | { kind: 'closed'; host: number; end: HostEnd }

/** What a process or supervisor is started with. */
export interface ChildSettings {
  module: string
  /** Heap of each thread of a supervisor; a process has its own as a flag. */
  heapMb: number | null
  /** Resident memory the process may grow by after its start; null: any. */
  growMb: number | null
  parent: number
}

/** What a process writes before it ends itself, because the worker could not tell that from a crash. */
export type LastWords = { kind: 'memory'; usedMb: number }

/** The pipe they go to; 0 to 2 are the usual ones and 3 carries the messages. */
export const lastWordsFd = 4
