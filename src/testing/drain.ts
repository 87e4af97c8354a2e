import { AssertionError } from 'node:assert'
import { monotonicMs, sleep } from '../clock.js'
import { webhookJobs } from '../enqueue/webhook.js'
import { type JobAttempt, type JobSummary, readStories } from '../history/story.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { type Duration, formatDuration, toMilliseconds } from '../job/duration.js'
import { refuseUnknown, wholeNumber } from '../job/refused.js'
import type { AnyJobType } from '../job/type.js'
import { isWorkflow } from '../job/workflow-mark.js'
import { beginWorker } from '../worker/start.js'
import type { Worker } from '../worker/worker.js'
import type { AnyWorkflow } from '../workflow/typed.js'
import { type LeftJob, listLeft, mostLeft, readLeft } from './left.js'
import { Ticks } from './ticks.js'

/** How far `drain` goes. */
export interface DrainOptions {
  /**
   * Also moves the clock to the next moment at which a job of these types may run, again and again: the time it is due, the end of a
   * sleep or of the wait for a signal, the next probe of an open breaker, the opening of a rate. True: until none of them waits for time
   * any more. A duration: that far and no further, and then the next tick of a schedule is such a moment too.
   * @range true, false, or 0 to 100 years
   * @default false
   */
  throughTime?: boolean | Duration
  /**
   * Throws, with a list, when a job of these types has not ended.
   * @default false
   */
  allMustEnd?: boolean
  /**
   * How often the clock may be moved. Past that something puts itself off without end, and drain says what.
   * @range 0 to 1,000,000
   * @default 500
   */
  moves?: number
  /**
   * How long all of it may take, in real time.
   * @range 0 to 100 years
   * @default '1m'
   */
  timeout?: Duration
  /**
   * How many handlers run at once. One by one when it is 1.
   * @range 1 to 10,000
   * @default 10
   */
  concurrency?: number
}

/** What became of the jobs that were run, each with all its attempts and their errors. */
export type DrainedJob = JobSummary & { attempts: JobAttempt[] }

/** What `drain` ran, and what it left. */
export interface DrainReport {
  /** Every job that was run, in the order they first came to an end of an attempt. */
  jobs: DrainedJob[]
  completed: DrainedJob[]
  /** An attempt failed and the next one waits for its time. */
  failed: DrainedJob[]
  /** Put off by their handler with ctx.snooze. */
  snoozed: DrainedJob[]
  dead: DrainedJob[]
  /** The first thousand jobs of these types that have not ended, run or not, each with what holds it back. */
  left: LeftJob[]
}

const lookEveryMs = 10
const quiet = { info() {}, warn() {}, error() {} }
/**
 * No notifications but a quick look: nothing to set up. A lease that outlives any reasonable move of the clock, and a
 * retention that keeps what the test wants to read afterwards.
 */
const workerOptions = {
  name: 'drain',
  listen: false,
  poll: lookEveryMs,
  lease: '24d',
  drain: 0,
  retention: { completed: '3650d', dead: '3650d' },
  logger: quiet,
  unsafe: true,
}

/**
 * Fires the schedules that are due and runs everything of these types and workflows that is, with a real worker in this process, until none of them runs or
 * could run now. What handlers throw does not come out of here: it is in the report, and so is what was left and why. Webhooks are not sent: the receiver
 * may be real. Their jobs stay in the queue.
 */
export async function drain(
  holdfast: Holdfast,
  types: readonly (AnyJobType | AnyWorkflow)[],
  options: DrainOptions,
): Promise<DrainReport> {
  refuseUnknown(options, ['throughTime', 'allMustEnd', 'moves', 'timeout', 'concurrency'])
  const { throughTime = false, allMustEnd = false, moves = 500, timeout = '1m', concurrency = 10 } = options
  wholeNumber(moves, 'moves', 0, 1_000_000)
  const timeoutMs = toMilliseconds(timeout, 'timeout')
  const travels = typeof throughTime !== 'boolean'
  const throughMs = travels ? toMilliseconds(throughTime, 'throughTime') : 0
  const names = types.flatMap(namesOf)
  const { store } = insideOf(holdfast)
  const goal = travels ? (await store.inspect.now()).getTime() + throughMs : null
  const worker = await beginWorker(holdfast, types, { ...workerOptions, concurrency }, { leaves: [webhookJobs.type] })
  const { ids, troubles } = listenTo(worker)
  const ticks = new Ticks(holdfast, worker.id, (trouble) => void troubles.push(trouble))
  const deadline = monotonicMs() + timeoutMs

  /** Resolves when nothing runs or could run now, with the next time at which something may. */
  async function untilNothingIsOpen(): Promise<string | null> {
    for (;;) {
      const nextTick = await ticks.fire()
      const { open, nextDue } = await store.inspect.openWork(names)
      if (!open) return travels ? earlier(nextDue, nextTick) : nextDue
      if (monotonicMs() > deadline) throw await unfinished(holdfast, names, `after ${formatDuration(timeoutMs)}`, troubles)
      await sleep(lookEveryMs)
    }
  }

  let left: LeftJob[]
  try {
    let next = await untilNothingIsOpen()
    for (let moved = 0; throughTime !== false && next !== null && !isPast(next, goal); moved++) {
      if (moved === moves) throw await unfinished(holdfast, names, `after the clock was moved ${moves} times`, troubles)
      await store.moveClock({ to: next })
      next = await untilNothingIsOpen()
    }
    if (goal !== null && (await store.inspect.now()).getTime() < goal) {
      await store.moveClock({ to: new Date(goal).toISOString() })
      await untilNothingIsOpen()
    }
    left = await readLeft(holdfast, names)
  } finally {
    await worker.stop()
  }
  if (allMustEnd && left.length > 0) {
    const jobs =
      left.length === 1 ? '1 job that has' : `${left.length === mostLeft ? `at least ${mostLeft}` : left.length} jobs that have`
    throw new AssertionError({ message: `drain has left ${jobs} not ended:\n${listLeft(left)}`, stackStartFn: drain })
  }
  // What ended is told when it has been written, a moment later than the database shows it; a worker that stopped has told all.
  return report(await readStories(insideOf(holdfast).store.inspect, [...ids]), left)
}

/** A workflow stands for the types of its tasks. */
function namesOf(one: AnyJobType | AnyWorkflow): string[] {
  return isWorkflow(one) ? (one as AnyWorkflow).types.map(({ type }) => type) : [(one as AnyJobType).type]
}

/** Of two times as the database writes them, the earlier one. */
function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other
  return Date.parse(one) <= Date.parse(other) ? one : other
}

function isPast(time: string, goal: number | null): boolean {
  return goal !== null && Date.parse(time) > goal
}

/** The jobs whose attempts ended, in that order, and what kept the worker from working. */
function listenTo(worker: Worker): { ids: Set<string>; troubles: string[] } {
  const ids = new Set<string>()
  const troubles: string[] = []
  const note = ({ job }: { job: string }) => void ids.add(job)
  worker.events.on('job.completed', note).on('job.failed', note).on('job.dead', note)
  worker.events.on('job.snoozed', note).on('lease.rescued', note)
  worker.events.on('schedule.failed', ({ schedule, error }) => void troubles.push(`schedule ${schedule}: ${error}`))
  worker.events.on('database.away', ({ error }) => void troubles.push(error))
  worker.events.on('duty.failed', ({ duty, of, error }) => void troubles.push(`${duty}${of ? ` of ${of}` : ''}: ${error}`))
  return { ids, troubles }
}

function report(jobs: DrainedJob[], left: LeftJob[]): DrainReport {
  const of = (status: string) => jobs.filter((job) => job.status === status)
  return { jobs, completed: of('completed'), failed: of('failed'), snoozed: of('scheduled'), dead: of('dead'), left }
}

async function unfinished(
  holdfast: Holdfast,
  names: readonly string[],
  when: string,
  troubles: readonly string[],
): Promise<AssertionError> {
  const left = await readLeft(holdfast, names)
  const hints = troubles.slice(-3).map((trouble) => `the worker was told: ${trouble}`)
  if (left.some((job) => job.status === 'processing')) {
    hints.push('what stays in processing has a handler that does not end, or is held by a worker that is gone')
  }
  const message = [`drain gives up ${when}; what is left:`, listLeft(left), ...hints].join('\n')
  return new AssertionError({ message, stackStartFn: drain })
}
