// What the fuzz knows by itself: what it was told, what handlers did, and which settings were in force when. Never asks the database.
import { now } from '../evidence/ledger.mjs'

/** How late a handler may start after its claim: what was claimed under the old setting starts under the new one. */
export const slackMs = 700

export class Books {
  /** The ledger of the fault bench, in memory: its invariants read it. */
  entries = []
  /** Every job that was acknowledged, in that order, with what may become of it. */
  jobs = new Map()
  /** Jobs of transactions that were rolled back. */
  undone = new Set()
  /** Jobs that somebody asked to forget: of these nothing has to be left. */
  forgotten = new Set()
  /** How any job may end, because somebody asked that of many. */
  allMayEnd = new Set()
  /** Sentences about what went wrong, as it was seen. */
  violations = []
  /** Whether workers or connections were harmed: an attempt may then be lost. */
  harmed = false
  #settings = new Map()
  /** How somebody asked jobs to end. */
  #asked = new Map()

  note(entry) {
    this.entries.push({ at: now(), ...entry })
  }

  /**
   * A job that exists for sure. `payload`: what it was enqueued or given again with. `more.call`: which enqueue, since when it was under
   * way and until when; `more.place`: where in its list.
   */
  acknowledge(job, payload, more = {}) {
    const known = this.jobs.get(job) ?? { payloads: [], ends: new Set(['completed']) }
    known.payloads.push(payload)
    if (more.call) known.place = { ...more.call, call: more.call, at: more.place }
    if (mayDie(payload)) known.ends.add('dead')
    for (const end of [...(more.ends ?? []), ...(this.#asked.get(job) ?? [])]) known.ends.add(end)
    this.jobs.set(job, known)
    this.note({ kind: 'acknowledged', job })
  }

  /** From now on a job may end like this too, because somebody asked for it. */
  mayEnd(job, end) {
    this.jobs.get(job)?.ends.add(end)
    // Somebody may have found the job before its enqueue was answered.
    this.#asked.set(job, [...(this.#asked.get(job) ?? []), end])
  }

  violated(sentence) {
    if (!this.violations.includes(sentence)) this.violations.push(sentence)
  }

  /**
   * A setting is being changed: until that is answered either value may hold, and of two changes at once nobody knows which
   * came last. Returns what to call when it is answered; where it never is, both values stay possible.
   */
  changing(scope, value) {
    const values = this.#settings.get(scope) ?? []
    this.#settings.set(scope, values)
    const mine = { value, from: now(), answered: Number.POSITIVE_INFINITY, until: Number.POSITIVE_INFINITY }
    values.push(mine)
    return () => {
      mine.answered = now()
      for (const other of values) if (other.answered < mine.from) other.until = Math.min(other.until, mine.answered)
    }
  }

  /** Every value that a setting may have had in the time before `at`; undefined stands for what it was at the beginning. */
  inForce(scope, at, ms = slackMs) {
    const values = this.#settings.get(scope) ?? []
    const possible = values.filter(({ from, until }) => from <= at && until >= at - ms).map(({ value }) => value)
    const sure = values.some(({ answered }) => answered < at - ms)
    return sure ? possible : [undefined, ...possible]
  }

  touched(scope) {
    return this.#settings.has(scope)
  }

  get anyTouched() {
    return this.#settings.size > 0
  }
}

function mayDie({ how }) {
  return how === 'fatal' || how === 'fail'
}
