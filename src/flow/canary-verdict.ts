import { fineShare } from '../job/fine-buckets.js'

/** How attempts of one type ended, over some time. A run is a bucket of fine-buckets.ts and how many attempts took that long. */
export interface AttemptCounts {
  completed: number
  failed: number
  lost: number
  dead: number
  runs: readonly (readonly [bucket: number, count: number])[]
}

/** What is known of a build that is being rolled out, and of the one before. */
export interface CanaryFacts {
  build: string
  /** What it is compared with; null: no other build has run its types. */
  baseline: string | null
  /** Workers of the build that live, and all that run some of its types. */
  workers: number
  fleet: number
  /** How long ago the last of its workers started. */
  stageMs: number
  drained: boolean
  /** Workers of the build that went without stopping and were replaced, in the last ten minutes. */
  restarts: number
  types: readonly {
    type: string
    /** The build in this stage, and since its first worker. */
    canary: AttemptCounts | null
    rollout: AttemptCounts | null
    /** The baseline in the same time, and in the hour before the first worker. */
    alongside: AttemptCounts | null
    before: AttemptCounts | null
  }[]
}

/** What to do with a canary: go on to its next stage, wait, or go back to its baseline. */
export type CanaryAdvice = 'go' | 'wait' | 'roll back'

/** Something that was looked at. `says` is `go` where it holds. */
export interface CanaryFinding {
  check: 'workers' | 'bake' | 'attempts' | 'failures' | 'duration' | 'dead_letters' | 'restarts'
  type: string | null
  says: CanaryAdvice
  /** In words, with the numbers. */
  because: string
}

/** Whether a build may go on to its next stage, and each finding that this rests on. */
export interface CanaryVerdict {
  verdict: CanaryAdvice
  build: string
  baseline: string | null
  stage: {
    workers: number
    fleet: number
    ageMs: number
    /** For how long a stage of this size has to last. */
    bakeMs: number
    /** How many workers of the build the next stage has; null: it runs everywhere. */
    next: number | null
  }
  findings: CanaryFinding[]
}

const minute = 60_000
const bakeMs = { canary: 15 * minute, later: 10 * minute }
const shares = [0.1, 0.5, 1]
const mostRestarts = 2
const failing = { share: 0.5, afterMs: 10 * minute }
const slower = { wait: 1.1, rollBack: 1.2, leastSeconds: 0.005 }
/** Of fewer attempts a rate says little, and a hundredth of them nothing. */
const least = { forRate: 20, forP99: 100 }
/** How far a count may lie above what is expected in one of a hundred times. */
const chance = 2.33

/**
 * Whether a build may go on to its next stage, by the criteria of docs/canary.md. The worst of all findings counts: `roll back` as soon as one
 * says so, `wait` while anything is not known or does not hold, `go` where everything holds.
 */
export function canaryVerdict(facts: CanaryFacts): CanaryVerdict {
  const { build, baseline, workers, fleet, stageMs } = facts
  const bake = workers <= 1 ? bakeMs.canary : bakeMs.later
  const seen = facts.types.reduce((sum, { canary }) => sum + attemptsOf(canary), 0)
  const findings: CanaryFinding[] = [
    workersSay(facts),
    finding(
      'bake',
      null,
      stageMs >= bake ? 'go' : 'wait',
      `the stage has lasted ${minutes(stageMs)} of ${minutes(bake)} minutes`,
    ),
    finding(
      'attempts',
      null,
      seen >= least.forRate ? 'go' : 'wait',
      `${seen} attempts ended in this stage, of at least ${least.forRate}`,
    ),
    finding(
      ...(['restarts', null, facts.restarts > mostRestarts ? 'roll back' : 'go'] as const),
      `${facts.restarts} of its workers died and were replaced within ten minutes, of at most ${mostRestarts}`,
    ),
    ...facts.types.flatMap((type) => ofType(type, stageMs)),
  ]
  const verdict = (['roll back', 'wait'] as const).find((one) => findings.some(({ says }) => says === one)) ?? 'go'
  const next = shares.map((share) => Math.ceil(fleet * share)).find((count) => count > workers) ?? null
  return { verdict, build, baseline, stage: { workers, fleet, ageMs: stageMs, bakeMs: bake, next }, findings }
}

function workersSay({ workers, fleet, drained }: CanaryFacts): CanaryFinding {
  if (drained) return finding('workers', null, 'wait', 'the build was told to drain')
  return finding('workers', null, workers > 0 ? 'go' : 'wait', `${workers} of ${fleet} workers run the build`)
}

function ofType({ type, canary, rollout, alongside, before }: CanaryFacts['types'][number], stageMs: number): CanaryFinding[] {
  // The same time says more than another one, if there is enough of it.
  const base = attemptsOf(alongside) >= least.forP99 || attemptsOf(before) === 0 ? alongside : before
  return [
    ...(canary === null ? [] : [failuresSay(type, canary, base, stageMs), ...durationSays(type, canary, base, stageMs)]),
    ...(rollout === null ? [] : [deathsSay(type, rollout, base)]),
  ]
}

function failuresSay(type: string, canary: AttemptCounts, base: AttemptCounts | null, stageMs: number): CanaryFinding {
  const [attempts, bad] = [attemptsOf(canary), failuresOf(canary)]
  const usual = rate(failuresOf(base), attemptsOf(base))
  const words = `${percent(rate(bad, attempts))} of ${attempts} attempts failed; of the baseline ${usual === null ? 'none ended' : percent(usual)}`
  const enough = attempts >= least.forRate
  if (enough && stageMs >= failing.afterMs && bad / attempts > failing.share) return finding('failures', type, 'roll back', words)
  if (usual === null || !enough) return finding('failures', type, 'go', words)
  const expected = attempts * usual
  const above = bad > expected + chance * Math.sqrt(Math.max(expected, 1))
  return finding('failures', type, above ? 'wait' : 'go', words)
}

function durationSays(type: string, canary: AttemptCounts, base: AttemptCounts | null, stageMs: number): CanaryFinding[] {
  if (countOf(canary) < least.forP99 || base === null || countOf(base) < least.forP99) return []
  const [now, usual] = [fineShare(canary.runs, 0.99) as number, fineShare(base.runs, 0.99) as number]
  const ratio = now - usual < slower.leastSeconds ? 1 : now / usual
  // A worker that has just started is slower, and a moment is no regression.
  const regressed = ratio > slower.rollBack && stageMs >= failing.afterMs
  const says = regressed ? 'roll back' : ratio > slower.wait ? 'wait' : 'go'
  return [
    finding('duration', type, says, `99 % of its attempts took less than ${seconds(now)}; of the baseline ${seconds(usual)}`),
  ]
}

function deathsSay(type: string, rollout: AttemptCounts, base: AttemptCounts | null): CanaryFinding {
  const usual = rate(base?.dead ?? 0, attemptsOf(base)) ?? 0
  const more = rollout.dead > usual * attemptsOf(rollout)
  const words = `${rollout.dead} jobs died on it in ${attemptsOf(rollout)} attempts; on the baseline ${base?.dead ?? 0} in ${attemptsOf(base)}`
  return finding('dead_letters', type, more ? 'roll back' : 'go', words)
}

function finding(check: CanaryFinding['check'], type: string | null, says: CanaryAdvice, because: string): CanaryFinding {
  return { check, type, says, because }
}

function attemptsOf(counts: AttemptCounts | null): number {
  return counts === null ? 0 : counts.completed + counts.failed + counts.lost
}

function failuresOf(counts: AttemptCounts | null): number {
  return counts === null ? 0 : counts.failed + counts.lost
}

function countOf({ runs }: AttemptCounts): number {
  return runs.reduce((sum, [, count]) => sum + count, 0)
}

function rate(count: number, of: number): number | null {
  return of === 0 ? null : count / of
}

function percent(share: number | null): string {
  return share === null ? 'none' : `${Number((share * 100).toFixed(2))} %`
}

function minutes(ms: number): number {
  return Math.floor(ms / minute)
}

function seconds(value: number): string {
  return value < 1 ? `${Number((value * 1_000).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`
}
