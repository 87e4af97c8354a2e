import type { Vitals } from '../background/vital-signs.js'
import { type LogEntry, mostLines, noMoreLines } from '../job/log-entry.js'
import type { Outcome } from '../job/outcome.js'
import { refused } from '../job/refused.js'
import { completedWith } from '../job/result.js'
import { defaultBackoff } from '../job/retry.js'
import type { Secrets } from '../job/secrets.js'
import type { Settlement } from '../job/settlement.js'
import type { JobStatus } from '../job/state.js'
import type { Meter } from '../metrics/meter.js'
import { logEntryWithoutSecrets, type Privacy, withoutSecrets, withResultEncrypted } from '../privacy/privacy.js'
import { decide } from '../settle/decide.js'
import type { LogRow } from '../store/log-store.js'
import type { HeldAttemptRow } from '../store/remote-rows.js'
import type { LostRow } from '../store/rows.js'
import type { EndedAttempt } from '../store/settle-values.js'
import type { Store } from '../store/store.js'
import type { RemoteWorker } from './workers.js'

export interface RemoteAttempt {
  job: string
  lease: string
}

/** How an attempt ended, as its worker reports it. */
export interface RemoteResult extends RemoteAttempt {
  outcome: Outcome
  /** What the handler returned, if it completed; undefined: nothing. */
  returned?: unknown
  /** How long the handler ran; left out: since the claim. */
  ranMs?: number
}

/** What a handler reports while it runs. A checkpoint is JSON. */
export interface RemoteReport extends RemoteAttempt {
  entries: readonly LogEntry[]
  checkpoint?: string
}

/** The result that counts when another one came too late. */
export interface Standing {
  outcome: string
  attempt: number
  endedAt: Date
}

/** What the job is after its attempt, and in how many milliseconds it is due again, if by the clock. */
export interface Became {
  status: JobStatus
  dueInMs: number | null
}

const after: Readonly<Record<Settlement['move'], JobStatus>> = {
  ...{ complete: 'completed', retry: 'failed', exhaust: 'dead', die: 'dead', poison: 'dead' },
  ...{ snooze: 'scheduled', block: 'blocked', hand_back: 'pending' },
}

/**
 * `written`: an earlier request settled this attempt with the same outcome. `refused`: the job is dead because its result could not be
 * kept, with the code of the error. If it is not settled, nothing was changed.
 */
export type Settled = { job: string } & (
  | { settled: true; written: boolean; refused?: string; became?: Became }
  | { settled: false; why: 'cancelled' | 'lost'; stands?: Standing }
)

/** Workers report durations, not times, because their clocks differ. */
const now = 0
/**
 * This result never matches a row, because a job that lost its lease does not get it back. It is sent so that a cancelled job is recorded
 * as stopped, and with its outcome, which tells whether an earlier request wrote the same one.
 */
function nothing({ kind }: Outcome): Settlement {
  return { move: 'hand_back', outcome: kind === 'blocked' ? 'snoozed' : kind, delayMs: null, failure: null }
}

/** Writes what remote workers report, fenced as for every worker: a result without its lease changes nothing, and the answer says so. */
export class RemoteResults {
  readonly #store: Store
  readonly #meter: Meter
  readonly #privacy: Privacy

  constructor(store: Store, meter: Meter, privacy: Privacy) {
    this.#store = store
    this.#meter = meter
    this.#privacy = privacy
  }

  /** Renews leases, each for that long, or for as long as it was claimed for. Those that are not in `held` are lost; `cancelled` are jobs whose handler is to stop. */
  async beat(
    worker: RemoteWorker,
    leases: readonly string[],
    ms: number | null,
    vitals: Partial<Vitals>,
  ): Promise<{ held: string[]; cancelled: string[] }> {
    const rows = await this.#store.remote.renew(worker.id, leases, ms, vitals)
    return { held: rows.map(({ lease }) => lease), cancelled: rows.flatMap(({ cancelled }) => cancelled) }
  }

  /** Ends attempts, many at once, in the order they were given. */
  async settle(worker: RemoteWorker, results: readonly RemoteResult[]): Promise<Settled[]> {
    if (new Set(results.map(({ job }) => job)).size < results.length) {
      throw refused('results', 'has one job twice; a job ends once')
    }
    const leases = [...new Set(results.map(({ lease }) => lease))]
    const own = await this.#store.remote.leasesOf(worker.id, leases)
    const held = await this.#held(worker, results)
    await this.#refuseEndless(results, held)
    const ended = results.filter(({ lease }) => own.has(lease)).map((result) => this.#ended(result, held.get(keyOf(result))))
    const lost = ended.length > 0 ? await this.#store.settle(worker.id, ended, now, []) : []
    if (own.size > 0) await this.#store.remote.closeEmpty(worker.id, [...own])
    const foreign = results.filter(({ lease }) => !own.has(lease))
    if (foreign.length > 0) lost.push(...(await this.#store.remote.howTheyStand(worker.id, foreign.map(asked))))
    const why = new Map(lost.map((row) => [row.id, row]))
    for (const { job, settlement, startedAtMs, endedAtMs } of ended) {
      const type = held.get(keyOf({ job: job.id, lease: job.lease }))?.type
      if (type && !why.has(job.id)) this.#meter.ended(type, settlement, startedAtMs, endedAtMs, worker.build)
    }
    const late = await this.#countLate(lost)
    // A worker does not learn how jobs of types ended that it did not register for.
    const known = (job: string) => worker.types.some(({ name }) => name === late.get(job))
    const settlements = new Map(ended.map(({ job, settlement }) => [job.id, settlement]))
    return results.map(({ job, outcome }) => {
      const settlement = why.has(job) ? undefined : settlements.get(job)
      if (!settlement) return settledAs(job, why.get(job), known(job))
      const refused = outcome.kind === 'completed' ? settlement.failure?.code : undefined
      const became = { status: after[settlement.move], dueInMs: settlement.delayMs }
      return { job, settled: true, written: false, became, ...(refused === undefined ? {} : { refused }) }
    })
  }

  /** A job that is blocked without a wait is woken by nobody. Asked before anything is written, so that the worker can send all of it again. */
  async #refuseEndless(results: readonly RemoteResult[], held: ReadonlyMap<string, HeldAttemptRow>): Promise<void> {
    for (const [index, result] of results.entries()) {
      if (result.outcome.kind !== 'blocked' || !held.has(keyOf(result))) continue
      const steps = await this.#store.log.steps.of(result.job)
      if (steps.some(({ kind, state }) => kind === 'signal' && state === 'waiting')) continue
      const problem = 'is block, and the job waits for no signal; store the wait first: POST /worker/step with the kind signal'
      throw refused(`results[${index}].result`, problem)
    }
  }

  /** The types of the jobs whose result was not written. */
  async #countLate(lost: readonly LostRow[]): Promise<Map<string, string>> {
    const unwritten = lost.filter(({ why }) => why === 'cancelled' || why === 'lost')
    if (unwritten.length === 0) return new Map()
    const types = new Map((await this.#store.remote.typesOf(unwritten.map(({ id }) => id))).map(({ id, type }) => [id, type]))
    for (const { id, why } of unwritten) {
      const type = types.get(id)
      if (type !== undefined && why === 'lost') this.#meter.cameLate(type)
    }
    return types
  }

  /** Stores reports of handlers. Answers with the jobs whose lease is lost, of which nothing was stored. */
  async note(worker: RemoteWorker, reports: readonly RemoteReport[]): Promise<string[]> {
    const held = await this.#held(worker, reports)
    const lost = new Set(reports.filter((one) => !held.has(keyOf(one))).map(({ job }) => job))
    const rows = reports.flatMap((one) => {
      const attempt = held.get(keyOf(one))?.attempt
      const secrets = this.#secrets(held.get(keyOf(one)))
      const kept = secrets ? one.entries.map((entry) => logEntryWithoutSecrets(entry, secrets)) : one.entries
      return attempt === undefined ? [] : kept.map((entry) => logRow(one.job, attempt, entry))
    })
    if (rows.length > 0) await this.#store.log.write(await this.#bounded(rows))
    for (const { job, lease, checkpoint } of reports) {
      if (checkpoint === undefined || lost.has(job)) continue
      const { type, encrypted } = held.get(keyOf({ job, lease })) as HeldAttemptRow
      const kept = this.#privacy.encrypts(encrypted) ? this.#privacy.encrypt(type, job, checkpoint, 'checkpoint') : checkpoint
      if (!(await this.#store.log.saveCheckpoint(job, lease, kept))) lost.add(job)
    }
    return [...lost]
  }

  #ended(result: RemoteResult, held: HeldAttemptRow | undefined): EndedAttempt {
    if (!held) return endedAttempt(result, held)
    const { outcome, returned } = result
    const kept = outcome.kind === 'completed' ? completedWith(returned, held.bytes) : outcome
    const stored = withResultEncrypted(this.#privacy, kept, held)
    const secrets = this.#secrets(held)
    return endedAttempt({ ...result, outcome: secrets ? withoutSecrets(stored, secrets) : stored }, held)
  }

  /** The values that must be removed from reports about this job. */
  #secrets(held: HeldAttemptRow | undefined): Secrets | undefined {
    if (!held?.payload) return undefined
    try {
      return this.#privacy.secrets(this.#privacy.decrypt(held.id, held.payload), held.redact)
    } catch {
      // Its key was removed since the claim; values that cannot be decrypted cannot be searched for.
      return undefined
    }
  }

  /** Drops the log lines beyond the limit of an attempt; the last one that is kept says so. */
  async #bounded(rows: readonly AgedLogRow[]): Promise<AgedLogRow[]> {
    const talkers = new Map(rows.filter(({ line }) => line !== null).map((row) => [row.jobId, row]))
    if (talkers.size === 0) return [...rows]
    const lines = await this.#store.remote.linesOf([...talkers.values()], mostLines)
    return rows.flatMap((row) => {
      if (row.line === null) return [row]
      const nth = (lines.get(row.jobId) ?? 0) + 1
      lines.set(row.jobId, nth)
      return nth > mostLines ? [] : [nth === mostLines ? { ...row, line: noMoreLines } : row]
    })
  }

  async #held(worker: RemoteWorker, attempts: readonly RemoteAttempt[]): Promise<Map<string, HeldAttemptRow>> {
    if (attempts.length === 0) return new Map()
    const rows = await this.#store.remote.held(worker.id, attempts, this.#privacy.redactsAll)
    return new Map(rows.map((row) => [keyOf({ job: row.id, lease: row.lease }), row]))
  }
}

function keyOf({ job, lease }: RemoteAttempt): string {
  return `${job} ${lease}`
}

function endedAttempt({ job, lease, outcome, ranMs }: RemoteResult, held: HeldAttemptRow | undefined): EndedAttempt {
  const attempt = { job: { id: job, lease }, endedAtMs: now }
  if (!held) return { ...attempt, settlement: nothing(outcome), startedAtMs: null }
  const settlement = decide(
    outcome,
    { attempt: held.attempt, maxAttempts: held.max },
    held.backoff ?? defaultBackoff,
    Math.random,
  )
  // Without a start nothing is recorded, which is right only for a job that never ran.
  const agoMs = ranMs === undefined ? (outcome.kind === 'handed_back' ? null : held.age) : Math.min(ranMs, held.age)
  return { ...attempt, settlement, startedAtMs: agoMs === null ? null : now - agoMs }
}

/** The outcome that was reported for a job this worker does not hold: it will not be written. */
function asked({ job, lease, outcome }: RemoteResult): RemoteAttempt & { outcome: string } {
  return { job, lease, outcome: outcome.kind }
}

function settledAs(job: string, lost: LostRow | undefined, known: boolean): Settled {
  if (lost === undefined || lost.why === 'written') return { job, settled: true, written: lost !== undefined }
  if (lost.why === 'ended') return { job, settled: true, written: false, became: { status: 'dead', dueInMs: null } }
  const { why, outcome, attempt, ended } = lost
  if (!known) return { job, settled: false, why: 'lost' }
  if (outcome === null) return { job, settled: false, why }
  return { job, settled: false, why, stands: { outcome, attempt: attempt as number, endedAt: new Date(ended as number) } }
}

type AgedLogRow = LogRow & { agoMs: number }

function logRow(jobId: string, attempt: number, entry: LogEntry): AgedLogRow {
  const [fraction, note] = entry.kind === 'progress' ? [entry.fraction, entry.note] : [null, null]
  const [line, level] = entry.kind === 'line' ? [entry.line, entry.level] : [null, null]
  return { jobId, attempt, fraction, note, line, level, agoMs: 0 }
}
