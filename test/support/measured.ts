import type { Holdfast } from 'holdfast'
import { createServer } from 'holdfast/server'
import { adminKey, quiet } from './serving.js'

/** What /metrics says, by name and labels as they stand there: `holdfast_jobs_dead_total{type="work"}`. */
export type Measured = ReadonlyMap<string, number>

export async function scrape(holdfast: Holdfast): Promise<string> {
  const server = createServer(holdfast, { adminKey, logger: quiet })
  try {
    return (await server.inject({ url: '/metrics', headers: { authorization: `Bearer ${adminKey}` } })).body
  } finally {
    await server.close()
  }
}

export function readMeasured(text: string): Measured {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ')
      return [line.slice(0, space), Number(line.slice(space + 1))]
    }),
  )
}

/** The counters of a type, without the part of the name that all have. */
export function countersOf(measured: Measured, type: string): Record<string, number> {
  const of = (name: string) => measured.get(`holdfast_${name}{type="${type}"}`) ?? Number.NaN
  return {
    enqueued: of('jobs_enqueued_total'),
    completed: of('jobs_completed_total'),
    failed: failures(measured, type, (outcome) => outcome !== 'lost'),
    dead: of('jobs_dead_total'),
    cancelled: of('jobs_cancelled_total'),
    rescued: of('lease_rescues_total'),
    late: of('late_settles_total'),
    measured: of('processing_duration_seconds_count'),
  }
}

/** How many attempts of a type ended with one of these outcomes. */
function failures(measured: Measured, type: string, which: (outcome: string) => boolean): number {
  const outcomes = ['failed', 'timed_out', 'out_of_memory', 'crashed', 'lost'].filter(which)
  const counts = outcomes.map((outcome) => measured.get(`holdfast_jobs_failed_total{type="${type}",outcome="${outcome}"}`))
  return counts.reduce((sum: number, count) => sum + (count ?? Number.NaN), 0)
}
