import { explain } from '../flow/explain.js'
import type { Gate } from '../flow/explain-gates.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { listJobs } from './assert-enqueued.js'
import { type EnqueuedJob, readEnqueued } from './enqueued.js'

/** A job that has not ended, and what keeps it from running; the first gate is the answer. */
export interface LeftJob extends EnqueuedJob {
  gates: Gate[]
  /** What the first gate says, in a sentence: what holds it, and what would open it. */
  why: string
}

/** Each is asked about: more would take longer than anybody would read. */
export const mostLeft = 1_000

/** The jobs of these types that have not ended, in the order they were enqueued. */
export async function readLeft(holdfast: Holdfast, types: readonly string[]): Promise<LeftJob[]> {
  const jobs = (await readEnqueued(holdfast)).filter((job) => types.includes(job.type)).slice(0, mostLeft)
  if (jobs.length === 0) return []
  const facts = await insideOf(holdfast).store.inspect.explainFactsOf(jobs.map((job) => job.id))
  return jobs.flatMap((job) => {
    const known = facts.get(job.id)
    if (!known) return []
    // A worker is there, the one that drains, though the clock may have been moved past its last sign of life.
    const { gates } = explain({ ...known, workers: Math.max(1, known.workers) })
    const [first] = gates
    return [{ ...job, gates, why: first ? `${first.why}; it opens by ${first.opens}` : '' }]
  })
}

/** What the line of a job says already. */
const said = new Set(['running', 'scheduled', 'retry'])

export function listLeft(left: readonly LeftJob[]): string {
  return listJobs(left, ({ gates: [first], why }) => (first && !said.has(first.gate) ? [why] : []))
}
