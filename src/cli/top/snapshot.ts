import type { WorkersAnswer } from '../../api/admin.js'
import type { Operator } from '../operator/operator.js'

/** One job type at this moment. */
export interface TypeNow {
  type: string
  lane: string
  running: number
  waiting: number
  scheduled: number
  blocked: number
  oldest_ms: number | null
}

/** One lane at this moment. */
export interface LaneNow {
  name: string
  enabled: boolean
  in_use: number
  slots: number | null
  waiting: number
}

/** What `holdfast top` shows. */
export interface Snapshot {
  waiting: number
  scheduled: number
  blocked: number
  running: number
  oldest_ms: number | null
  /** How many a second, in the last minute that was sampled; null where none was. */
  rates: { enqueued: number; completed: number; failed: number; dead: number } | null
  types: TypeNow[]
  lanes: LaneNow[]
  workers: { id: number; name: string; host: string; jobs: number; silent_ms: number; stalled: boolean }[]
  /** What holds jobs back, a sentence each. */
  shut: string[]
}

/** Samples are ten seconds apart, and answered a few seconds later: two minutes have a whole one in them. */
const lookBackMs = 120_000
const stepMs = 10_000
const stepsOfAMinute = 6

/** Everything for one picture, over whichever way the operator goes. */
export async function readSnapshot(operator: Operator, nowMs: number): Promise<Snapshot> {
  const from = new Date(nowMs - lookBackMs).toISOString()
  const [fleet, types, series, dependencies] = await Promise.all([
    operator.flow.workers(),
    operator.flow.types(),
    operator.series({ from, step: `${stepMs}ms` }),
    operator.flow.dependencies(),
  ])
  const rate = (counts: readonly number[]) => sum(counts.slice(-stepsOfAMinute)) / (stepsOfAMinute * (stepMs / 1_000))
  const { depths } = fleet
  const oldest = depths.flatMap(({ oldest_ms }) => oldest_ms ?? [])
  const gates = [...types.flatMap(({ type, gate }) => (gate ? [{ name: type, ...gate }] : [])), ...dependencies]
  return {
    waiting: sum(depths.map((one) => one.waiting)),
    scheduled: sum(depths.map((one) => one.scheduled)),
    blocked: sum(depths.map((one) => one.blocked)),
    running: sum(fleet.workers.map(({ jobs }) => jobs)),
    oldest_ms: oldest.length === 0 ? null : Math.max(...oldest),
    rates:
      series.completed.length === 0
        ? null
        : {
            enqueued: rate(series.enqueued),
            completed: rate(series.completed),
            failed: rate(series.failed),
            dead: rate(series.dead),
          },
    types: busiestFirst(depths),
    lanes: fleet.lanes.map(({ name, enabled, in_use, slots }) => ({
      ...{ name, enabled, in_use, slots },
      waiting: sum(depths.filter(({ lane }) => lane === name).map((one) => one.waiting)),
    })),
    workers: fleet.workers.map(({ id, name, host, jobs, silent_ms, stalled }) => ({ id, name, host, jobs, silent_ms, stalled })),
    shut: [
      ...gates.flatMap(({ name, paused, breaker }) => [
        ...(paused === null ? [] : [`${name} is paused by ${paused.by}${paused.why ? `: ${paused.why}` : ''}`]),
        ...(breaker.open ? [`the breaker of ${name} is open${breaker.reason ? `: ${breaker.reason}` : ''}`] : []),
      ]),
      ...fleet.lanes.flatMap(({ name, enabled }) => (enabled ? [] : [`the lane ${name} drains`])),
    ],
  }
}

function busiestFirst(depths: WorkersAnswer['depths']): TypeNow[] {
  const busy = ({ running, waiting }: TypeNow) => running * 1_000 + waiting
  return [...depths].sort((a, b) => busy(b) - busy(a) || (a.type < b.type ? -1 : 1))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
