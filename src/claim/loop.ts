import type { Background, Monitor } from '../background/background.js'
import { monotonicMs, sleep } from '../clock.js'
import type { DutyRow, TickRow } from '../store/duty-rows.js'
import { isConnectionTrouble } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { Claims, type ClaimsEvents } from './claims.js'
import { IdleSubscription } from './idle-subscription.js'
import type { Lanes } from './lanes.js'
import { Wake } from './wake.js'

export interface ClaimLoopSettings {
  worker: number
  /** How often to poll without a listening connection, and the longest pause between polls with one; the lanes may ask for less. */
  pollMs: { notListening: number; listening: number }
}

export interface ClaimLoopEvents extends ClaimsEvents {
  /** Whether notifications can arrive right now. */
  listening(): boolean
  /** The database said whether any lease has run out. `sharing`: how many idle workers take turns in asking. */
  expiredLeases(expired: boolean, sharing: number): unknown
  /** Hands back jobs that a claim took for this worker and whose answer never arrived. Says how many they were. */
  unacknowledged(): Promise<number>
  /** The database answered every claim of a round. */
  looked(): void
  /** What was due was done, and these duties had something to do. */
  dutiesDone(duties: readonly DutyRow[]): void
}

/** What a look at what is due has brought: whether there is something to claim, whether there certainly is nothing, whether more is due. */
interface Promoted {
  readonly found: boolean
  readonly noneFree: boolean
  readonly more: boolean
}

/** Many where more are due than were promoted at once: a statement costs a round trip and a commit. */
const promoteAtOnce = { first: 1_000, more: 4_000 }
const distantPast = '1970-01-01T00:00:00Z'
/** In at most this share of its time a worker looks for due jobs, and as often reads all that wait instead of going on where it last ended. */
const dueShare = 1 / 20
const soonestMs = 10
/**
 * How often to look for jobs that become due. A busy worker is not notified; an idle one is notified of jobs due within twelve
 * seconds, so it has to see those that are due later before that, also where four workers share the polling. A worker without a
 * free slot could do nothing about them.
 */
const lookForDueMs = { busy: 100, idle: 2_000 }
/** When a busy worker looks again after a look that took so long: a hundred of them would otherwise look a thousand times a second. */
const busyLookMs = (tookMs: number) => Math.min(lookForDueMs.idle, Math.max(lookForDueMs.busy, tookMs / dueShare))
/** A worker without a free slot for this long cannot act on notifications, so it unsubscribes. */
const fullForMs = 1_000
const nothingAsked: Promoted = { found: false, noneFree: false, more: false }
const nothingClaimed = { claimed: 0, more: false }
const pauseMs = { first: 100, most: 5_000, mostWhereLost: 60_000 }
/** A claim that this worker gave up has ended in the database by then, one way or the other. */
const handBackAgainMs = 15_000
/** Duties that fail as a whole are tried again after this, because almost every round would try them. */
const dutiesPauseMs = { first: 500, most: 10_000 }

/**
 * Step 3 of a job's way. Each round the worker promotes jobs that have become due, claims as many as it has free slots for, and waits
 * when there are none. The loop goes on through every failure; where due jobs cannot be promoted, it claims those that are in the queue.
 * While very many are due it promotes the next ones during the claims.
 */
export class ClaimLoop implements Background {
  readonly name = 'claim loop'
  readonly wake = new Wake()
  readonly #store: Store
  readonly #lanes: Lanes
  readonly #settings: ClaimLoopSettings
  readonly #monitor: Monitor
  readonly #events: ClaimLoopEvents
  readonly #subscription: IdleSubscription
  readonly #claims: Claims
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined
  #nextDueAt = 0
  #promotedTo = distantPast
  /** Sent while the claims before it are under way, because more are due than were promoted at once. */
  #promotingAhead: Promise<Promoted> | undefined
  #rereadAt = 0
  #thoroughAt = 0
  #dutiesNotBefore = 0
  #dutiesPauseMs = dutiesPauseMs.first
  #lookAt = 0
  #handBackAgainAt = Number.POSITIVE_INFINITY
  /** How many times in a row jobs were claimed and the answer did not arrive. */
  #lostInARow = 0
  #notified = false
  /** A producer has notified this worker and few others. */
  #notifiedAlone = false
  #fullSince: number | undefined

  constructor(store: Store, lanes: Lanes, settings: ClaimLoopSettings, monitor: Monitor, events: ClaimLoopEvents) {
    this.#store = store
    this.#lanes = lanes
    this.#settings = settings
    this.#monitor = monitor
    this.#events = events
    this.#subscription = new IdleSubscription(store, settings.worker, () => lanes.ids)
    this.#claims = new Claims(settings.worker, lanes, monitor, events)
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Resolves when no claim is under way any more. */
  async stop(): Promise<void> {
    this.#stop.abort()
    this.wake.signal()
    await this.#running
  }

  /** A producer sent a notification, or a connection came back. */
  notified(): void {
    this.#subscription.notified()
    this.#notified = true
    this.wake.signal()
  }

  /** A producer notified this worker and few others: if it has no slot for the job, others have to be notified. */
  notifiedAlone(): void {
    this.#notifiedAlone = true
    this.notified()
  }

  /** A handler ended. Wakes the loop where the last round wanted more slots; a busy worker is not notified of new jobs, so it polls too. */
  slotFree(): void {
    if (this.#claims.wantsSlots || !this.#subscription.active) this.wake.signal()
  }

  /** This worker put off a job itself and need not be told when it is due. */
  dueIn(ms: number): void {
    const dueAt = monotonicMs() + ms
    if (dueAt >= this.#nextDueAt) return
    this.#nextDueAt = dueAt
    this.wake.signal()
  }

  async #run(): Promise<void> {
    let pause = pauseMs.first
    while (!this.#stop.signal.aborted) {
      try {
        this.#monitor.asking('claims')
        const restMs = await this.#round()
        if (!this.#claims.refused) {
          this.#monitor.answered('claims')
          this.#events.looked()
        }
        pause = pauseMs.first
        if (restMs > 0 && (await this.wake.wait(restMs))) this.#lookAt = 0
      } catch (error) {
        this.#monitor.failed('claims', error)
        this.#subscription.forget()
        this.#nextDueAt = 0
        this.#lookAt = 0
        // Only a stop cuts this pause short: while the database is away, every handler that ends would otherwise send one more statement.
        await sleep(pause * (0.5 + Math.random()), { signal: this.#stop.signal })
        pause = Math.min(pause * 2, this.#lostInARow > 1 ? pauseMs.mostWhereLost : pauseMs.most)
      }
    }
    await this.#promotingAhead?.catch(() => {})
  }

  /** Does what there is to do now. Returns how long the loop may wait for a signal before the next round. */
  async #round(): Promise<number> {
    await this.#releaseUnacknowledged()
    // Almost every notification is about a job that can start now, so the claim goes first, unless due jobs are waiting to be promoted.
    const claimFirst = this.#notified && (monotonicMs() < this.#nextDueAt || this.#promotingAhead !== undefined)
    // A notification may also be about a job that is due in a moment. And a worker that has just subscribed looks for due jobs too,
    // because their producer may not have seen the subscription.
    if (this.#notified || (this.#subscription.active && monotonicMs() >= this.#lookAt)) this.#nextDueAt = 0
    this.#notified = false
    const { found, noneFree, more: moreDue } = claimFirst ? nothingAsked : await this.#promoted()
    if (moreDue) this.#promoteAhead()
    if (claimFirst || found || monotonicMs() >= this.#lookAt) {
      // A lane whose claim the database refused is claimed from although no job is free: only an answer shows that it works again.
      const skip = noneFree && !this.#claims.refused
      const wasNotifiedAlone = this.#notifiedAlone && !skip
      this.#notifiedAlone = false
      const { claimed, more } = skip ? nothingClaimed : await this.#claims.round(lookForDueMs.busy, this.#stop.signal)
      if (claimed > 0) {
        this.#subscription.worked()
        this.#lostInARow = 0
      }
      if (wasNotifiedAlone && this.#claims.wantsSlots) await this.#subscription.end()
      else await this.#subscription.review()
      const lookAgainInMs = skip ? Number.POSITIVE_INFINITY : Math.min(this.#claims.lookAgainInMs, this.#claims.askAgainInMs)
      // A busy worker polls again at once after it got jobs; an idle one is notified of new ones.
      const atOnce = this.#subscription.active && this.#events.listening() ? more : claimed > 0
      const restMs = await this.#untilNextLook(atOnce, lookAgainInMs)
      this.#lookAt = monotonicMs() + restMs
      if (restMs === 0) return 0
    }
    if (this.#promotingAhead) return 0
    return Math.max(0, Math.min(this.#lookAt, Math.max(this.#nextDueAt, this.#dutiesNotBefore)) - monotonicMs())
  }

  /**
   * Hands back jobs of claims whose answer never arrived. It does so twice, the second time when the claim must have ended in the
   * database, because a claim that was given up here may commit after the first. Where jobs were found every time, answers get lost on
   * the way, and claiming often would only keep jobs from other workers.
   */
  async #releaseUnacknowledged(): Promise<void> {
    const now = monotonicMs()
    if (!this.#claims.unacknowledged && now < this.#handBackAgainAt) return
    const jobs = await this.#events.unacknowledged()
    this.#handBackAgainAt = this.#claims.unacknowledged ? now + handBackAgainMs : Number.POSITIVE_INFINITY
    if (jobs > 0) this.#lostInARow += 1
    this.#claims.released()
  }

  #promoted(): Promise<Promoted> {
    const ahead = this.#promotingAhead
    this.#promotingAhead = undefined
    return ahead ?? this.#promoteWhatIsDue()
  }

  #promoteAhead(): void {
    this.#promotingAhead ??= this.#promoteWhatIsDue(promoteAtOnce.more)
    // The round that awaits it handles its failure.
    this.#promotingAhead.catch(() => {})
  }

  async #promoteWhatIsDue(most = promoteAtOnce.first): Promise<Promoted> {
    const now = monotonicMs()
    if (now < this.#nextDueAt || now < this.#dutiesNotBefore) return nothingAsked
    // dueIn() may set it while the statement runs, for a job that the statement may not have seen.
    this.#nextDueAt = Number.POSITIVE_INFINITY
    // A job that was committed late may stand before the point up to which the loop has read; reading from the start finds it.
    const fromStart = now >= this.#rereadAt
    if (fromStart) this.#promotedTo = distantPast
    const thorough = this.#subscription.active && now >= this.#thoroughAt
    this.#monitor.asking('duties')
    let answer: TickRow
    try {
      answer = await this.#store.tick(most, this.#promotedTo, this.#lanes.types, thorough)
    } catch (error) {
      if (isConnectionTrouble(error)) throw error
      this.#monitor.failed('duties', error)
      return this.#withoutDuties()
    }
    const { promoted, readTo, nextInMs, lanes, free, expired, duties, gateOpen } = answer
    this.#monitor.answered('duties')
    this.#events.dutiesDone(duties ?? [])
    this.#restAfterDuties(duties?.some(({ failed }) => failed.some(({ of }) => of === undefined)) ?? false)
    if (expired !== null) this.#events.expiredLeases(expired, this.#subscription.sharing)
    // Producers notify only in the lanes this worker has subscribed to.
    if (this.#lanes.update(lanes)) this.#subscription.forget()
    if (readTo !== null) this.#promotedTo = readTo
    const answeredAt = monotonicMs()
    if (fromStart) this.#rereadAt = answeredAt + (answeredAt - now) / dueShare
    if (thorough) this.#thoroughAt = answeredAt + (answeredAt - now) / dueShare
    const inNoHurry = (this.#subscription.active && this.#events.listening()) || !this.#claims.canClaim
    const inMs = Math.min(
      nextInMs ?? Number.POSITIVE_INFINITY,
      inNoHurry ? lookForDueMs.idle * this.#subscription.sharing : busyLookMs(answeredAt - now),
    )
    const more = promoted === most
    const dueAt = answeredAt + (more ? 0 : Math.max(soonestMs, inMs))
    this.#nextDueAt = Math.min(this.#nextDueAt, dueAt, fromStart ? dueAt : this.#rereadAt)
    const found = promoted > 0 || gateOpen
    return { found, noneFree: !found && free === false, more }
  }

  /** Where the duties failed, the loop still claims; for that it only has to know the lanes. */
  async #withoutDuties(): Promise<Promoted> {
    this.#restAfterDuties(true)
    this.#nextDueAt = this.#dutiesNotBefore
    if (this.#lanes.update(await this.#store.lanesOf(this.#lanes.types))) this.#subscription.forget()
    return nothingAsked
  }

  #restAfterDuties(failed: boolean): void {
    this.#dutiesNotBefore = failed ? monotonicMs() + this.#dutiesPauseMs : 0
    this.#dutiesPauseMs = failed ? Math.min(this.#dutiesPauseMs * 2, dutiesPauseMs.most) : dutiesPauseMs.first
  }

  async #untilNextLook(atOnce: boolean, lookAgainInMs: number): Promise<number> {
    const { notListening, listening } = this.#settings.pollMs
    if (this.#claims.canClaim) {
      this.#fullSince = undefined
      if (atOnce) return 0
      const pollMs = Math.min(listening, this.#lanes.pollMs)
      const restMs = this.#events.listening()
        ? await this.#subscription.nextPollMs(pollMs)
        : this.#subscription.nextPollUnnotifiedMs(notListening)
      return Math.min(restMs, lookAgainInMs)
    }
    this.#fullSince ??= monotonicMs()
    const patienceMs = this.#fullSince + fullForMs - monotonicMs()
    if (patienceMs > 0) return patienceMs
    await this.#subscription.end()
    return listening
  }
}
