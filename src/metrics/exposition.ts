import { bounds } from '../job/buckets.js'
import type { MetricsRow, TypeMetrics } from '../store/metrics-store.js'
import { type Metric, metrics } from './declared.js'

const lowest = 0
const highest = 9

/** What is measured, as text in the format that Prometheus reads (version 0.0.4). */
export function expose(row: MetricsRow, replica?: { used: boolean; lagMs: number | null }): string {
  const { types, oldest, lanes, dependencies, refusals, drift, duties, workers, stalled, missingPartitions, notifyQueue } = row
  const { fleet, retentionRan, builds } = row
  const ofFleet = (metric: Metric, count: number | undefined) => block(metric, [sample(metric, [], count ?? 0)])
  const ofTypes = (metric: Metric, value: (one: TypeMetrics) => number) =>
    block(
      metric,
      types.map((one) => sample(metric, [one.type], value(one))),
    )
  /** One that has no such number is left out. */
  const ofDependencies = (metric: Metric, value: (one: MetricsRow['dependencies'][number]) => number | null) =>
    block(
      metric,
      dependencies.flatMap((one) => {
        const number = value(one)
        return number === null ? [] : [sample(metric, [one.dependency], number)]
      }),
    )
  const ages = new Map(oldest)
  const priorities = Array.from({ length: highest - lowest + 1 }, (_, index) => lowest + index)
  const limited = lanes.flatMap(({ slots, ...lane }) => (slots === null ? [] : [{ ...lane, slots }]))
  return [
    block(metrics.depth, types.flatMap(depths)),
    ofTypes(metrics.scheduled, (one) => one.depths.reduce((sum, [, , scheduled]) => sum + scheduled, 0)),
    ofTypes(metrics.blocked, (one) => one.depths.reduce((sum, [, , , blocked]) => sum + blocked, 0)),
    ofTypes(metrics.processing, (one) => one.running),
    block(
      metrics.oldest,
      priorities.map((priority) => sample(metrics.oldest, [priority], ages.get(priority) ?? 0)),
    ),
    ofTypes(metrics.enqueued, (one) => one.enqueued),
    ofTypes(metrics.completed, (one) => one.completed),
    block(metrics.failed, types.flatMap(failures)),
    ofTypes(metrics.dead, (one) => one.dead),
    ofTypes(metrics.expired, (one) => one.expired),
    ofTypes(metrics.replayed, (one) => one.replayed),
    ofTypes(metrics.cancelled, (one) => one.cancelled),
    ofTypes(metrics.resumed, (one) => one.resumed),
    ofTypes(metrics.snoozed, (one) => one.snoozed),
    ofTypes(metrics.handedBack, (one) => one.handedBack),
    ofTypes(metrics.rescued, (one) => one.rescued),
    ofTypes(metrics.late, (one) => one.late),
    block(
      metrics.refused,
      refusals.map(([status, count]) => sample(metrics.refused, [status], count)),
    ),
    ofFleet(metrics.enqueueRequests, fleet.enqueue_requests),
    ofFleet(metrics.statusRequests, fleet.status_requests),
    ofFleet(metrics.statusErrors, fleet.status_errors),
    ofFleet(metrics.connectionErrors, fleet.connection_errors),
    block(
      metrics.driftRepairs,
      drift.map(([what, count]) => sample(metrics.driftRepairs, [what], count)),
    ),
    block(metrics.duration, types.flatMap(durations)),
    block(metrics.wait, types.flatMap(waits)),
    ofTypes(metrics.deadLetters, (one) => one.deadLetters),
    block(metrics.verified, types.flatMap(verified)),
    ...[metrics.dutyRuns, metrics.dutyFailures, metrics.dutySeconds, metrics.setAside].map((metric, index) =>
      block(
        metric,
        duties.map(([duty, ...counts]) => sample(metric, [duty], counts[index] as number)),
      ),
    ),
    block(metrics.workers, [sample(metrics.workers, [], workers)]),
    ofFleet(metrics.restarts, fleet.worker_restarts),
    block(metrics.stalled, [sample(metrics.stalled, [], stalled)]),
    ofTypes(metrics.breaker, (one) => Number(one.breakerOpen)),
    ofTypes(metrics.paused, (one) => Number(one.paused)),
    ofDependencies(metrics.dependencySlots, (one) => one.slots),
    ofDependencies(metrics.dependencyInUse, (one) => one.inUse),
    ofDependencies(metrics.dependencyPaused, (one) => Number(one.paused)),
    ofDependencies(metrics.dependencyBreaker, (one) => Number(one.breakerOpen)),
    block(
      metrics.slots,
      limited.map(({ lane, slots }) => sample(metrics.slots, [lane], slots)),
    ),
    block(
      metrics.slotsInUse,
      limited.map(({ lane, inUse }) => sample(metrics.slotsInUse, [lane], inUse)),
    ),
    block(
      metrics.buildWorkers,
      builds.map(({ build, workers: live }) => sample(metrics.buildWorkers, [build], live)),
    ),
    block(
      metrics.buildAttempts,
      builds.flatMap(({ build, completed, failed }) => [
        sample(metrics.buildAttempts, [build, 'completed'], completed),
        sample(metrics.buildAttempts, [build, 'failed'], failed),
      ]),
    ),
    block(metrics.retention, retentionRan === null ? [] : [sample(metrics.retention, [], retentionRan)]),
    block(metrics.replicaUsed, [sample(metrics.replicaUsed, [], replica?.used ? 1 : 0)]),
    block(metrics.replicaLag, [sample(metrics.replicaLag, [], (replica?.lagMs ?? Number.NaN) / 1_000)]),
    block(
      metrics.missingPartitions,
      missingPartitions.map(([table, count]) => sample(metrics.missingPartitions, [table], count)),
    ),
    block(metrics.notifyQueue, [sample(metrics.notifyQueue, [], notifyQueue)]),
  ].join('')
}

/** A type of which nothing waits says so under the priority its jobs usually have, so that a rule always finds a number. */
function depths({ type, priority, depths }: TypeMetrics): string[] {
  const waiting = depths.filter(([, count]) => count > 0)
  return (waiting.length > 0 ? waiting : [[priority, 0] as const]).map(([of, count]) => sample(metrics.depth, [type, of], count))
}

/** Every outcome has a number, 0 too, so that a rule that divides finds all of them. */
function failures({ type, failed, timedOut, outOfMemory, crashed, rescued }: TypeMetrics): string[] {
  const outcomes = { timed_out: timedOut, out_of_memory: outOfMemory, crashed, lost: rescued }
  const other = Math.max(0, failed - timedOut - outOfMemory - crashed)
  return Object.entries({ failed: other, ...outcomes }).map(([outcome, count]) => sample(metrics.failed, [type, outcome], count))
}

/** Of types that nobody verifies there is nothing to say. */
function verified({ type, confirmed, refuted }: TypeMetrics): string[] {
  if (confirmed === null || refuted === null) return []
  return Object.entries({ confirmed, refuted }).map(([outcome, count]) => sample(metrics.verified, [type, outcome], count))
}

function durations({ type, durations: taken }: TypeMetrics): string[] {
  return histogram(metrics.duration, [type], taken)
}

/** A type of which no attempt began says so under the priority its jobs usually have. */
function waits({ type, priority, waits: all }: TypeMetrics): string[] {
  const priorities = all.length > 0 ? [...new Set(all.map(([of]) => of))] : [priority]
  return priorities.flatMap((of) => {
    const its = all.filter(([one]) => one === of).map(([, ...bucket]) => bucket)
    return histogram(metrics.wait, [type, of], its)
  })
}

/** Taken: bucket, count and seconds. */
function histogram(
  { name, labels }: Metric,
  values: readonly (string | number)[],
  taken: readonly [number, number, number][],
): string[] {
  const counts = new Map(taken.map(([bucket, count]) => [bucket, count]))
  let upToHere = 0
  const buckets = [...bounds, '+Inf'].map((bound, index) => {
    upToHere += counts.get(index) ?? 0
    return line(`${name}_bucket`, [...labels, 'le'], [...values, bound], upToHere)
  })
  const seconds = taken.reduce((sum, [, , one]) => sum + one, 0)
  return [...buckets, line(`${name}_sum`, labels, values, seconds), line(`${name}_count`, labels, values, upToHere)]
}

/** Without a sample a metric is left out: its name alone says nothing. */
export function block({ name, help, kind }: Metric, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`
}

export function sample({ name, labels }: Metric, values: readonly (string | number)[], value: number): string {
  return line(name, labels, values, value)
}

function line(name: string, labels: readonly string[], values: readonly (string | number)[], value: number): string {
  const shown = labels.map((label, index) => `${label}="${escaped(String(values[index]))}"`).join(',')
  return `${name}${shown && `{${shown}}`} ${value}\n`
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`))
}
