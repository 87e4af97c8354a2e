import type { Entry, Execution } from './ledger.js'
import type { Queue } from './queue.js'

interface Attempt {
  job_id: string
  attempt: number
  outcome: string
}

/**
 * Holds what the ledger saw against what the database says, after everything has come to rest. Answers with every
 * violation as a sentence; the names I1 to I9 are those of the fault bench.
 */
export async function violations(queue: Queue): Promise<string[]> {
  const entries = queue.ledger.entries()
  const jobs = await queue.sql('select id, status, attempt, max_attempts from holdfast.jobs')
  const attempts = (await queue.sql(
    'select job_id, attempt, outcome from holdfast.attempts order by ended_at',
  )) as unknown as Attempt[]
  const rowsOf = group(jobs, ({ id }) => id)
  const attemptsOf = group(attempts, ({ job_id }) => job_id)
  const ran = group(entries.filter(isExecution), ({ job }) => job)
  const acknowledged = jobsNoted(entries, 'acknowledged')
  const found: string[] = []
  const check = (holds: boolean, violation: string) => {
    if (!holds) found.push(violation)
  }

  for (const job of acknowledged) {
    const rows = rowsOf.get(job) ?? []
    check(rows.length > 0, `I1: acknowledged job ${job} is lost`)
    check(rows.length <= 1, `I3: job ${job} stands in ${rows.length} places: ${rows.map(({ status }) => status)}`)
    check(['completed', 'dead'].includes(rows[0]?.status), `I2: job ${job} came to no end: ${rows[0]?.status}`)
    found.push(...storyViolations(job, rows[0]?.status, rows[0]?.max_attempts, attemptsOf.get(job) ?? [], ran.get(job) ?? []))
  }
  for (const job of ran.keys()) check(acknowledged.has(job), `I9: job ${job} ran and was never acknowledged`)
  for (const job of jobsNoted(entries, 'rolled_back')) check(!rowsOf.has(job), `I9: job ${job} was rolled back and exists`)
  return [...found, ...overlaps(entries, attemptsOf)]
}

function storyViolations(job: string, status: string, max: number, attempts: Attempt[], ran: Execution[]): string[] {
  const found: string[] = []
  const check = (holds: boolean, violation: string) => {
    if (!holds)
      found.push(`${violation} (job ${job}: ${attempts.map(({ attempt, outcome }) => `${attempt} ${outcome}`).join(', ')})`)
  }
  const numbers = [...new Set(attempts.map(({ attempt }) => attempt))]
  check(
    numbers.every((number, at) => number === at + 1),
    'I5: attempts are not numbered 1 to n',
  )
  check(numbers.length <= max, `I8: more attempts than ${max}`)
  const ends = attempts.filter(({ outcome }) => outcome === 'completed')
  check(ends.length === (status === 'completed' ? 1 : 0), 'I3: completed more than once, or completed and dead')
  check(status !== 'completed' || attempts.at(-1)?.outcome === 'completed', 'I3: something happened after it was completed')
  for (const { attempt } of ends) {
    check(
      ran.some((run) => run.kind === 'finish' && run.attempt === attempt),
      `I4: no handler finished attempt ${attempt}`,
    )
  }
  for (const number of new Set(ran.map(({ attempt }) => attempt))) {
    const executions = ran.filter((run) => run.kind === 'start' && run.attempt === number).length
    const recorded = attempts.filter(({ attempt }) => attempt === number).length
    check(executions <= recorded, `I5: attempt ${number} was executed ${executions} times and recorded ${recorded} times`)
  }
  const fences = ran
    .filter(({ kind }) => kind === 'start')
    .sort((a, b) => a.attempt - b.attempt)
    .map(({ fence }) => BigInt(fence))
  check(
    fences.every((fence, at) => at === 0 || fence > (fences[at - 1] as bigint)),
    'I6: a later attempt has no larger fence',
  )
  return found
}

/** I6: two executions of one job at the same time are possible only where the earlier one had lost its lease. */
function overlaps(entries: readonly Entry[], attemptsOf: Map<string, Attempt[]>): string[] {
  const running = new Map<string, Execution[]>()
  const found: string[] = []
  for (const entry of entries) {
    if (entry.kind === 'killed') {
      for (const [job, executions] of running)
        running.set(
          job,
          executions.filter(({ pid }) => pid !== entry.pid),
        )
    } else if (entry.kind === 'finish' || entry.kind === 'threw') {
      running.set(
        entry.job,
        (running.get(entry.job) ?? []).filter(({ fence }) => fence !== entry.fence),
      )
    } else if (entry.kind === 'start') {
      for (const other of running.get(entry.job) ?? []) {
        const first = Math.min(other.attempt, entry.attempt)
        const lost = attemptsOf.get(entry.job)?.some(({ attempt, outcome }) => attempt === first && outcome === 'lease_expired')
        if (!lost)
          found.push(`I6: attempts ${other.attempt} and ${entry.attempt} of ${entry.job} overlap, and ${first} held its lease`)
      }
      running.set(entry.job, [...(running.get(entry.job) ?? []), entry])
    }
  }
  return found
}

function isExecution(entry: Entry): entry is Execution {
  return entry.kind === 'start' || entry.kind === 'finish' || entry.kind === 'threw'
}

function jobsNoted(entries: readonly Entry[], kind: 'acknowledged' | 'rolled_back'): Set<string> {
  return new Set(entries.flatMap((entry) => (entry.kind === kind ? [entry.job] : [])))
}

function group<T>(rows: readonly T[], key: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const row of rows) {
    const group = groups.get(key(row))
    if (group) group.push(row)
    else groups.set(key(row), [row])
  }
  return groups
}
