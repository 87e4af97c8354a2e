import type { WorkerEvents } from '../events.js'
import { Checker } from './checker.js'
import { showValue } from './failure.js'
import { isMarked } from './mark.js'
import { refuseUnknown } from './refused.js'
import type { AnyJobType, JobType } from './type.js'

/**
 * Functions that a worker calls after it has written how an attempt ended. They are best effort: a process that is killed in between never
 * calls them, and neither does anybody for jobs that another program ended. What they throw is logged and changes nothing.
 */
export interface JobHooks {
  /**
   * A job has completed.
   * @default none
   */
  onComplete?(event: WorkerEvents['job.completed'][0]): unknown
  /**
   * An attempt failed, and the job will be tried again.
   * @default none
   */
  onFailure?(event: WorkerEvents['job.failed'][0]): unknown
  /**
   * A job has ended dead.
   * @default none
   */
  onDead?(event: WorkerEvents['job.dead'][0]): unknown
}

/** What the reaction to a death has as its payload. */
export interface DeathNotice {
  /** The id of the job that died. `holdfast.deadLetters.get(job)` has its payload and every attempt. */
  job: string
  type: string
  reason: 'exhausted' | 'fatal' | 'poison' | 'expired' | 'buried'
  attempt: number
  /** As `2030-01-31T09:00:00.000Z`. */
  diedAt: string
  error: { name: string; message: string } | null
}

/** The hooks of a type. */
export interface TypeHooks extends Omit<JobHooks, 'onDead'> {
  /**
   * A job of the type has ended dead: a function as above, or a type of which a job is enqueued by the very statement that writes the death.
   * That job is there whoever ended the dead one, a rescue or a deadline too, and also if the worker is killed a moment later.
   * @default none
   */
  onDead?: JobHooks['onDead'] | { enqueue: Pick<JobType<DeathNotice>, 'type' | 'job'> | string }
}

/** The same, checked. */
export interface ReadHooks {
  readonly hooks: JobHooks
  /** The name of the type of which a job is enqueued for each that died. */
  readonly onDead: string | undefined
  /** Its definition, where it was given. */
  readonly reaction: AnyJobType | undefined
}

export const hookNames = ['onComplete', 'onFailure', 'onDead'] as const
export const noHooks: ReadHooks = { hooks: {}, onDead: undefined, reaction: undefined }

/** Takes the functions among them; whatever else they are is refused. */
export function readHooks(options: JobHooks): JobHooks {
  const check = new Checker()
  const given = hookNames.filter((name) => options[name] !== undefined)
  for (const name of given) {
    if (typeof options[name] !== 'function') check.wrong(name, `is ${showValue(options[name])}; it must be a function`)
  }
  check.done('invalid_option', 'the hooks have problems')
  return Object.fromEntries(given.map((name) => [name, options[name]]))
}

export function readTypeHooks({ onComplete, onFailure, onDead }: TypeHooks, type: string): ReadHooks {
  const functions = { ...(onComplete && { onComplete }), ...(onFailure && { onFailure }) }
  if (onDead === undefined || typeof onDead === 'function') {
    return { ...noHooks, hooks: readHooks({ ...functions, ...(onDead && { onDead }) }) }
  }
  const check = new Checker()
  const hooks = check.read(() => readHooks(functions), {})
  const { enqueue } = (onDead ?? {}) as { enqueue?: unknown }
  const reaction = isMarked(enqueue) ? (enqueue as AnyJobType) : undefined
  const name = reaction?.type ?? enqueue
  if (typeof onDead === 'object' && onDead !== null) check.read(() => refuseUnknown(onDead, ['enqueue'], ['onDead']), undefined)
  if (typeof name !== 'string' || name === '') {
    check.wrong('onDead', `is ${showValue(onDead)}; it must be a function, or { enqueue: type }`)
  }
  if (name === type) check.wrong('onDead.enqueue', `is ${type} itself; its dead jobs would make new ones without end`)
  if (reaction?.encrypt) {
    check.wrong('onDead.enqueue', `is ${name}, whose payloads are encrypted; the database writes this one, and it has no keys`)
  }
  check.done('invalid_option', `the hooks of ${type} have problems`)
  return { hooks, onDead: name as string, reaction }
}
