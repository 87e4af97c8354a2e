import type { Entry, Execution } from './ledger.js'
import type { Program } from './processes.js'
import type { Queue } from './queue.js'

export const by = { by: 'ada', why: 'a test' }

export interface FleetOptions {
  /** Definitions, as defineType takes them, without the handler. */
  types?: object[]
  worker?: object
}

/** Several workers in one process, where none of them is killed or told from the others: a process more costs twice what a worker does. */
export function startTogether(queue: Queue, workers: number, { types, worker = {} }: FleetOptions = {}): Promise<Program> {
  return queue.worker(worker, { workers, ...(types && { types }) })
}

/** Several worker processes at once. */
export function startWorkers(queue: Queue, count: number, { types, worker = {} }: FleetOptions = {}): Promise<Program[]> {
  return Promise.all(Array.from({ length: count }, () => queue.worker(worker, types ? { types } : {})))
}

/** Kills a worker process and notes it in the ledger: what it ran has ended. */
export async function killAndNote(queue: Queue, worker: Program): Promise<void> {
  await worker.kill()
  queue.ledger.note({ kind: 'killed', pid: worker.pid })
}

/** How many handlers were at work at once, at most, in all or of those with the same name. Killed processes run nothing. */
export function mostAtOnce(entries: readonly Entry[], named: (start: Execution) => string = () => ''): number {
  const running = new Map<string, Execution>()
  const count = new Map<string, number>()
  let most = 0
  const end = (run: string) => {
    const start = running.get(run)
    if (start && running.delete(run)) count.set(named(start), (count.get(named(start)) ?? 0) - 1)
  }
  for (const entry of entries) {
    if (entry.kind === 'start') {
      running.set(`${entry.job} ${entry.fence}`, entry)
      const now = (count.get(named(entry)) ?? 0) + 1
      count.set(named(entry), now)
      most = Math.max(most, now)
    } else if (entry.kind === 'finish' || entry.kind === 'threw') end(`${entry.job} ${entry.fence}`)
    else if (entry.kind === 'killed') for (const [run, start] of running) if (start.pid === entry.pid) end(run)
  }
  return most
}

/** The most of these times that fall into any stretch of that length, its end not included. */
export function mostWithin(times: readonly number[], ms: number): number {
  const sorted = [...times].sort((a, b) => a - b)
  let from = 0
  let most = 0
  for (const [to, time] of sorted.entries()) {
    while (time - (sorted[from] as number) >= ms) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}
