import { HoldfastError } from '../errors.js'
import type { Outcome } from '../job/outcome.js'
import { defaultBackoff } from '../job/retry.js'
import { mostLines, noMoreLines, type Saying } from '../job/saying.js'
import type { Settlement } from '../job/settlement.js'
import type { Meter } from '../metrics/meter.js'
import { type Privacy, sayingWithoutSecrets, withoutSecrets } from '../privacy/privacy.js'
import { decide } from '../settle/decide.js'
import type { HeldAttemptRow } from '../store/remote-rows.js'
import type { LostRow } from '../store/rows.js'
import type { SaidRow } from '../store/sayings-store.js'
import type { EndedAttempt } from '../store/settle-values.js'
import type { Store } from '../store/store.js'
import type { RemoteWorker } from './workers.js'

export interface RemoteAttempt {
  job: string
  lease: string
}

/** How an attempt went, as its worker says. */
export interface RemoteResult extends RemoteAttempt {
  outcome: Outcome
  /** How long the handler ran; left out: since the claim. */
  ranMs?: number
}

/** What a handler says while it runs. A checkpoint is JSON. */
export interface RemoteSaying extends RemoteAttempt {
  sayings: readonly Saying[]
  checkpoint?: string
}

/** `written`: an earlier call had settled it. Of the others nothing was changed. */
export type Settled = { job: string } & ({ settled: true; written: boolean } | { settled: false; why: 'cancelled' | 'lost' })

/** Workers say how long ago something was, and no two of them have a clock in common. */
const now = 0
/** Never matched: a row that is not held cannot come back under its lease. Sent so that a cancelled job is known to have stopped. */
const nothing: Settlement = { move: 'complete', outcome: 'completed', delayMs: null, failure: null }

/** What workers behind HTTP report. Fenced as for every worker: what no longer holds its lease changes nothing, and is told so. */
export class RemoteResults {
  readonly #store: Store
  readonly #meter: Meter
  readonly #privacy: Privacy

  constructor(store: Store, meter: Meter, privacy: Privacy) {
    this.#store = store
    this.#meter = meter
    this.#privacy = privacy
  }

  /** Renews leases. Those that are not in `held` are lost; `cancelled` are jobs whose handler is to stop. */
  async beat(worker: RemoteWorker, leases: readonly string[], ms: number): Promise<{ held: string[]; cancelled: string[] }> {
    const rows = await this.#store.remote.renew(worker.id, leases, ms)
    return { held: rows.map(({ lease }) => lease), cancelled: rows.flatMap(({ cancelled }) => cancelled) }
  }

  /** Ends attempts, many at once, in the order they were given. */
  async settle(worker: RemoteWorker, results: readonly RemoteResult[]): Promise<Settled[]> {
    if (new Set(results.map(({ job }) => job)).size < results.length) {
      throw new HoldfastError('invalid_option', 'results names a job twice; it ends once', { field: 'results' })
    }
    const leases = [...new Set(results.map(({ lease }) => lease))]
    const own = await this.#store.remote.leasesOf(worker.id, leases)
    const held = await this.#held(worker, results)
    const ended = results.filter(({ lease }) => own.has(lease)).map((result) => this.#ended(result, held.get(keyOf(result))))
    const lost = ended.length > 0 ? await this.#store.settle(worker.id, ended, now, []) : []
    if (own.size > 0) await this.#store.remote.closeEmpty(worker.id, [...own])
    const foreign = results.filter(({ lease }) => !own.has(lease)).map(({ job }) => job)
    if (foreign.length > 0) lost.push(...(await this.#store.remote.whyLost(worker.id, foreign)))
    const why = new Map(lost.map((row) => [row.id, row.why]))
    for (const { job, settlement, startedAtMs, endedAtMs } of ended) {
      const type = held.get(keyOf({ job: job.id, lease: job.lease }))?.type
      if (type && !why.has(job.id)) this.#meter.ended(type, settlement.outcome, startedAtMs, endedAtMs)
    }
    await this.#countLate(lost.filter((row) => row.why === 'lost').map(({ id }) => id))
    return results.map(({ job }) => settledAs(job, why.get(job)))
  }

  async #countLate(jobs: readonly string[]): Promise<void> {
    if (jobs.length === 0) return
    for (const { type } of await this.#store.remote.typesOf(jobs)) this.#meter.cameLate(type)
  }

  /** Keeps what handlers say. Answers with the jobs whose lease is lost, of which nothing was kept. */
  async note(worker: RemoteWorker, said: readonly RemoteSaying[]): Promise<string[]> {
    const held = await this.#held(worker, said)
    const lost = new Set(said.filter((one) => !held.has(keyOf(one))).map(({ job }) => job))
    const rows = said.flatMap((one) => {
      const attempt = held.get(keyOf(one))?.attempt
      const secrets = this.#secrets(held.get(keyOf(one)))
      const kept = secrets ? one.sayings.map((saying) => sayingWithoutSecrets(saying, secrets)) : one.sayings
      return attempt === undefined ? [] : kept.map((saying) => sayingRow(one.job, attempt, saying))
    })
    if (rows.length > 0) await this.#store.sayings.note(await this.#bounded(rows))
    for (const { job, lease, checkpoint } of said) {
      if (checkpoint === undefined || lost.has(job)) continue
      const { type, encrypted } = held.get(keyOf({ job, lease })) as HeldAttemptRow
      const kept = this.#privacy.seals(encrypted) ? this.#privacy.seal(type, job, checkpoint, 'checkpoint') : checkpoint
      if (!(await this.#store.sayings.saveCheckpoint(job, lease, kept))) lost.add(job)
    }
    return [...lost]
  }

  #ended(result: RemoteResult, held: HeldAttemptRow | undefined): EndedAttempt {
    const secrets = this.#secrets(held)
    return endedAttempt(secrets ? { ...result, outcome: withoutSecrets(result.outcome, secrets) } : result, held)
  }

  /** What must not be stored of what a worker says about this job. */
  #secrets(held: HeldAttemptRow | undefined): readonly string[] | undefined {
    if (!held?.payload) return undefined
    try {
      return this.#privacy.secrets(this.#privacy.open(held.id, held.payload), held.redact)
    } catch {
      // Its key has been taken away since it was claimed; what cannot be read cannot be looked for.
      return undefined
    }
  }

  /** Without the lines beyond what is kept of an attempt; the last one that is kept says so. */
  async #bounded(rows: readonly SayingRow[]): Promise<SayingRow[]> {
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
  if (!held) return { ...attempt, settlement: nothing, startedAtMs: null }
  const settlement = decide(
    outcome,
    { attempt: held.attempt, maxAttempts: held.max },
    held.backoff ?? defaultBackoff,
    Math.random,
  )
  // Without a start nothing is recorded, which is right only for a job that was never begun.
  const agoMs = ranMs === undefined ? (outcome.kind === 'handed_back' ? null : held.age) : Math.min(ranMs, held.age)
  return { ...attempt, settlement, startedAtMs: agoMs === null ? null : now - agoMs }
}

function settledAs(job: string, why: LostRow['why'] | undefined): Settled {
  if (why === undefined || why === 'written') return { job, settled: true, written: why === 'written' }
  return { job, settled: false, why }
}

type SayingRow = SaidRow & { agoMs: number }

function sayingRow(jobId: string, attempt: number, saying: Saying): SayingRow {
  const [fraction, note] = saying.kind === 'progress' ? [saying.fraction, saying.note] : [null, null]
  const [line, level] = saying.kind === 'line' ? [saying.line, saying.level] : [null, null]
  return { jobId, attempt, fraction, note, line, level, agoMs: 0 }
}
