/** When what waits will be done, or how fast it grows; undefined: nothing waits, it stays as it is, or it is too early to tell. */
export type Forecast =
  | { readonly drainsInMs: number; readonly soonestMs: number; readonly latestMs: number | null }
  | { readonly growsPerMinute: number }
  | undefined

const windowsMs = [60_000, 300_000, 900_000]
/** Of what waits, in a minute. A queue that turns over without getting longer or shorter is neither. */
const leastChange = 0.02
const fewestSteps = 4
/** Jobs a minute. A queue of a few jobs that grows more slowly is one that comes and goes. */
const leastGrowth = 1

/**
 * From how much less waits than one, five and fifteen minutes ago: the middle of the three says when, and the other two how sure that is. If one of
 * them says that it grew, nobody knows the latest.
 */
export function forecast({ step_ms, waiting }: { step_ms: number; waiting: readonly number[] }): Forecast {
  const now = waiting.at(-1) ?? 0
  if (now === 0 || waiting.length < fewestSteps) return undefined
  const { speeds, middle } = speedsOf(waiting, step_ms)
  if (Math.abs(middle) * 60_000 < leastChange * now) return undefined
  if (middle < 0) {
    const growsPerMinute = Math.round(-middle * 60_000)
    return growsPerMinute < leastGrowth ? undefined : { growsPerMinute }
  }
  const times = speeds.filter((speed) => speed > 0).map((speed) => now / speed)
  const latestMs = times.length < speeds.length ? null : Math.max(...times)
  return { drainsInMs: now / middle, soonestMs: Math.min(...times), latestMs }
}

export interface Ends {
  readonly step_ms: number
  readonly waiting: readonly number[]
  readonly completed: readonly number[]
  readonly dead: readonly number[]
}

/**
 * When what waits would be done with so many workers more, if each ended as many jobs as those there did in the last five minutes. null: it would
 * not get less with them either; undefined: nobody can tell.
 */
export function drainsWith(
  { step_ms, waiting, completed, dead }: Ends,
  workers: number,
  more: number,
): number | null | undefined {
  const now = waiting.at(-1) ?? 0
  if (now === 0 || workers === 0 || waiting.length < fewestSteps) return undefined
  const steps = Math.min(completed.length, Math.max(1, Math.round((windowsMs[1] as number) / step_ms)))
  const ended = [...completed.slice(-steps), ...dead.slice(-steps)].reduce((sum, one) => sum + one, 0)
  if (ended === 0) return undefined
  const speed = speedsOf(waiting, step_ms).middle + (ended / (steps * step_ms) / workers) * more
  return speed > 0 ? now / speed : null
}

/** How much less waits in a millisecond, over each of the three times, and the middle of them. */
function speedsOf(waiting: readonly number[], stepMs: number): { speeds: number[]; middle: number } {
  const speeds = windowsMs.map((ms) => lessPerMs(waiting, stepMs, ms))
  return { speeds, middle: [...speeds].sort((one, other) => one - other)[1] as number }
}

function lessPerMs(waiting: readonly number[], stepMs: number, windowMs: number): number {
  const steps = Math.min(waiting.length - 1, Math.max(1, Math.round(windowMs / stepMs)))
  return ((waiting.at(-1 - steps) as number) - (waiting.at(-1) as number)) / (steps * stepMs)
}
