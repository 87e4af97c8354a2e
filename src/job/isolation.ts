import { type Duration, toMilliseconds } from './duration.js'
import { showValue } from './failure.js'
import { refused, refuseUnknown } from './refused.js'

/** Where a handler runs: in the worker itself, in a thread outside of it, or in a process of its own. */
export type IsolationKind = 'inline' | 'thread' | 'process'

/** Where the handler of a type runs, and what it may use there. */
export interface IsolationOptions {
  /**
   * `inline` costs nothing and protects from nothing; see docs/isolation.md for what the others do.
   * @range inline, thread or process
   * @default 'inline'
   */
  isolation?: IsolationKind
  /**
   * Megabytes the handler and what it loads may use; an isolated attempt that takes more is ended.
   * @range 16 to 1,048,576
   * @default 256
   */
  memory?: number
  /**
   * How many run at once in one worker, and with `chunk` how many calls. A type that says so has slots of its own beside the worker's `concurrency`.
   * @range 1 to 1,000
   * @default isolated: as many as there are cores; with `chunk`: 1 call; inline: the `concurrency` of the worker, shared with other types
   */
  atOnce?: number
  /**
   * How long an isolated handler may go on after its signal fired before its thread or process is ended.
   * @range 0 to 10 minutes
   * @default '2s'
   */
  grace?: Duration
  /**
   * When a thread or process is replaced by a fresh one, between two jobs.
   * @range jobs 1 to 1,000,000,000; memory 1 to 1,048,576
   * @default { jobs: 1_000, memory: three quarters of `memory` }
   */
  recycle?: { jobs?: number; memory?: number }
}

/** Where the handler of a type runs and with how much memory: its definition, checked. */
export interface Isolation {
  readonly kind: IsolationKind
  /** Null: no cap, as for everything inline. */
  readonly memoryMb: number | null
  /** Null: as many as the worker has slots (inline) or the machine has cores (isolated). */
  readonly atOnce: number | null
  readonly graceMs: number
  readonly recycle: { readonly jobs: number; readonly memoryMb: number }
}

export const isolationFields = ['isolation', 'memory', 'atOnce', 'grace', 'recycle']
const kinds: readonly unknown[] = ['inline', 'thread', 'process']
const standard = { memoryMb: 256, grace: '2s', jobs: 1_000, recycleShare: 0.75 }
/** Below this Node does not even start; above, somebody meant kilobytes. */
const memoryMb = { least: 16, most: 1_048_576 }
/** Counts only while such a job is quarantined in a process. */
const inlineGraceMs = 2_000
const longestGraceMs = 600_000

/** What a type is that says nothing about it. */
export const inline: Isolation = {
  kind: 'inline',
  memoryMb: null,
  atOnce: null,
  graceMs: inlineGraceMs,
  recycle: { jobs: 1, memoryMb: 0 },
}

export function readIsolation(options: IsolationOptions, type: string): Isolation {
  const kind = options.isolation ?? 'inline'
  if (!kinds.includes(kind)) throw refused('isolation', `of ${type} is ${showValue(kind)}; it can be inline, thread or process`)
  const atOnce = options.atOnce === undefined ? null : whole(options.atOnce, 'atOnce', type, 1, 1_000)
  if (kind === 'inline') {
    const useless = (['memory', 'grace', 'recycle'] as const).find((field) => options[field] !== undefined)
    if (useless) throw refused(useless, `of ${type} has no meaning inline; say isolation: 'thread' or 'process'`)
    return { ...inline, atOnce }
  }
  const memory = whole(options.memory ?? standard.memoryMb, 'memory', type, memoryMb.least, memoryMb.most)
  const graceMs = toMilliseconds(options.grace ?? standard.grace, 'grace')
  if (graceMs > longestGraceMs) throw refused('grace', `of ${type} is more than 10 minutes`)
  refuseUnknown(options.recycle ?? {}, ['jobs', 'memory'], ['recycle'])
  const { jobs = standard.jobs, memory: level = Math.ceil(memory * standard.recycleShare) } = options.recycle ?? {}
  return {
    kind,
    memoryMb: memory,
    atOnce,
    graceMs,
    recycle: {
      jobs: whole(jobs, 'recycle.jobs', type, 1, 1_000_000_000),
      memoryMb: whole(level, 'recycle.memory', type, 1, memoryMb.most),
    },
  }
}

function whole(value: unknown, field: string, type: string, low: number, high: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high) return value
  throw refused(field, `of ${type} is ${showValue(value)}; it must be a whole number from ${low} to ${high}`)
}
