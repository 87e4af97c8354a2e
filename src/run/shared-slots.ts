/** One of those who share slots: the slots of a worker for one member. */
export interface Sharer {
  /** How many claimed jobs could begin at once. */
  ready(): number
  /** Begins as many of them as there are slots for. */
  fill(): void
  /** A slot is kept free for it, so that it may claim a job. */
  offered(): void
}

/**
 * A slot is kept free for so long for a claim that is not answered. One whose claim took longer is waited for twice as long the next time, or
 * a slow database would go without slots beside a fast one; what it is given beyond the first shrinks with each claim that is answered in time.
 */
const patienceMs = { first: 250, most: 2_000 }

/**
 * Slots that several workers of one process share, one for each database that it serves. None is reserved: whoever has jobs may use all of
 * them while the others have none. A slot that becomes free goes to the one that uses fewest, and of those to the one that waited longest; where that one has first
 * to claim a job, the slot is kept free until its claim is answered.
 */
export class SharedSlots {
  readonly #total: number
  readonly #shares: Share[] = []
  #served = 0

  constructor(total: number) {
    this.#total = total
  }

  join(sharer: Sharer): Share {
    const share = new Share(sharer, {
      free: (asking) => this.#freeFor(asking),
      changed: () => this.#giveOut(),
      turn: () => ++this.#served,
    })
    this.#shares.push(share)
    return share
  }

  #freeFor(asking: Share): number {
    const taken = this.#shares.reduce((sum, share) => sum + share.used + (share.kept && share !== asking ? 1 : 0), 0)
    return Math.max(0, this.#total - taken)
  }

  #giveOut(): void {
    const passed = new Set<Share>()
    for (;;) {
      const wanting = this.#shares.filter((share) => share.wants && !passed.has(share) && this.#freeFor(share) > 0)
      const next = wanting.sort((a, b) => a.used - b.used || a.servedAt - b.servedAt)[0]
      if (next === undefined) return
      // One whose jobs all wait for another of their key takes none.
      if (!next.serve()) passed.add(next)
    }
  }
}

interface Among {
  free(asking: Share): number
  changed(): void
  /** A number above all that were given before. */
  turn(): number
}

/** What one of them has of the slots. */
export class Share {
  used = 0
  servedAt = 0
  readonly #sharer: Sharer
  readonly #among: Among
  #hungry = false
  #kept: NodeJS.Timeout | undefined
  #patienceMs = patienceMs.first

  constructor(sharer: Sharer, among: Among) {
    this.#sharer = sharer
    this.#among = among
  }

  /** How many more jobs it may begin now. */
  get free(): number {
    return this.#among.free(this)
  }

  get kept(): boolean {
    return this.#kept !== undefined
  }

  get wants(): boolean {
    return !this.kept && (this.#hungry || this.#sharer.ready() > 0)
  }

  take(): void {
    this.used += 1
    this.servedAt = this.#among.turn()
    this.#endKeeping()
  }

  /** So many jobs have ended. */
  give(slots = 1): void {
    this.used -= slots
    this.#among.changed()
  }

  /** It would have claimed jobs, and had no slot for them. */
  want(): void {
    this.#hungry = true
  }

  /** Its claims were answered: a slot that was kept for one and is not taken by now is for everybody. */
  answered(): void {
    if (!this.kept || this.#sharer.ready() > 0) return
    this.#endKeeping()
    this.#among.changed()
  }

  /** False: it took nothing, and nothing is kept for it. */
  serve(): boolean {
    const before = this.used
    if (this.#sharer.ready() > 0) this.#sharer.fill()
    else {
      this.#hungry = false
      this.servedAt = this.#among.turn()
      this.#kept = setTimeout(() => {
        this.#kept = undefined
        this.#patienceMs = Math.min(2 * this.#patienceMs, patienceMs.most)
        this.#among.changed()
      }, this.#patienceMs)
      this.#kept.unref()
      this.#sharer.offered()
    }
    return this.kept || this.used > before
  }

  #endKeeping(): void {
    if (!this.kept) return
    this.#patienceMs = Math.max(0.9 * this.#patienceMs, patienceMs.first)
    clearTimeout(this.#kept)
    this.#kept = undefined
  }
}

/** The slots that the workers of one process share: those of all types without slots of their own, and those of each type that has. */
export class SlotShares {
  readonly #shared = new Map<string, SharedSlots>()

  of(pool: string, total: number): SharedSlots {
    const shared = this.#shared.get(pool) ?? new SharedSlots(total)
    this.#shared.set(pool, shared)
    return shared
  }
}
