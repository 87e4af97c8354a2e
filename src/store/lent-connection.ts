import type pg from 'pg'
import { monotonicMs, sleep } from '../clock.js'
import type { Connections, PoolConnections } from './connections.js'
import type { ReadCommitted } from './read-committed.js'

/** A worker may wait for its one connection in this share of its time, and so long at once; then it uses another beside it. */
const waitingShare = 1 / 20
const waitAtOnceMs = 50
/** How many connections beside the lent one a worker uses: one under load, more while it claims hundreds of jobs at a time. */
const beside = { usually: 1, inAHurry: 2 }
const hurryForMs = 2_000
/** Where no other connection could be opened, the lent one is all there is for so long. */
const afterRefusalMs = 1_000
const returnWithinMs = 4_000
/** A statement that has waited for so long uses one more connection of the pool, if there is one. */
const longestWaitMs = 2_000

/** The connection of a listener, lent to one statement at a time: an idle worker needs no other. */
export class LentConnection {
  #client: pg.Client | undefined
  #lentTo: pg.Client | undefined
  #breakOff: () => void = () => {}
  #answeredAt = 0
  #expected = true
  /** Tells whoever waits that it is free, or gone. */
  freed: () => void = () => {}

  /** The connection is up. `breakOff` gives it up. */
  open(client: pg.Client, breakOff: () => void): void {
    this.#client = client
    this.#expected = false
    this.#lentTo = undefined
    this.#breakOff = breakOff
    this.#answeredAt = monotonicMs()
    this.freed()
  }

  /** Lends the connection to nobody any more. Resolves when whoever has it has given it back. */
  async close(): Promise<void> {
    this.#client = undefined
    this.#expected = false
    this.freed()
    const deadline = monotonicMs() + returnWithinMs
    while (this.#lentTo !== undefined && monotonicMs() < deadline) await sleep(5)
  }

  /** Whether the first connection is under way, or one is open: statements wait for it a little. */
  get isAwaited(): boolean {
    return this.#expected || this.isOpen
  }

  get isOpen(): boolean {
    return this.#client !== undefined
  }

  take(): pg.Client | undefined {
    if (this.#lentTo !== undefined) return undefined
    this.#lentTo = this.#client
    return this.#client
  }

  giveBack(client: pg.ClientBase, spoiled: boolean): void {
    if (this.#lentTo === client) this.#lentTo = undefined
    if (this.#client !== client) return
    if (spoiled) return this.#breakOff()
    this.#answeredAt = monotonicMs()
    this.freed()
  }

  /** Sends a statement as soon as nobody has the connection. A connection that fails is given up. */
  async say(text: string): Promise<void> {
    while (this.isOpen) {
      const client = this.take()
      if (client) {
        return client.query(text).then(
          () => this.giveBack(client, false),
          () => this.giveBack(client, true),
        )
      }
      await sleep(5)
    }
  }

  /** Asks a connection that nobody used for that long whether it is there. Returns when to come again. */
  check(silentForMs: number): number {
    const restMs = this.#lentTo === undefined ? this.#answeredAt + silentForMs - monotonicMs() : silentForMs
    if (restMs > 0) return restMs
    void this.say('select 1')
    return silentForMs
  }
}

/** Whoever waits gets the lent connection itself, leave to use one beside it, or word that there is no lent one any more. */
type Turn = pg.Client | 'beside' | 'gone'

/**
 * The connections of a worker: the one that its listener lends, and those of a pool beside it. A statement that finds that taken waits a
 * little; a worker that waits often uses the pool as well. So an idle worker has one connection and a busy one two.
 */
export class LentFirst implements Connections {
  readonly #lent: LentConnection
  readonly #pool: PoolConnections
  readonly #waiting: ((turn: Turn) => void)[] = []
  #inUse: pg.ClientBase | undefined
  #beside = 0
  #waitedMs = 0
  #waitedAt = 0
  #hurryUntil = 0
  #refusedUntil = 0

  constructor(lent: LentConnection, pool: PoolConnections) {
    this.#lent = lent
    this.#pool = pool
    lent.freed = () => this.#serve()
  }

  get readCommitted(): ReadCommitted {
    return this.#pool.readCommitted
  }

  take(): Promise<pg.ClientBase> {
    const lent = this.#takeLent()
    if (lent) return Promise.resolve(lent)
    if (!this.#lent.isAwaited) return this.#follow('gone')
    return this.#mayUseAnother(this.#patienceMs() <= 0) ? this.#follow(this.#allowBeside()) : this.#wait()
  }

  giveBack(client: pg.ClientBase, spoiled: boolean): void {
    if (client === this.#inUse) {
      this.#inUse = undefined
      return this.#lent.giveBack(client, spoiled)
    }
    this.#beside -= 1
    this.#pool.giveBack(client, spoiled)
    this.#serve()
  }

  answered(client: pg.ClientBase): void {
    this.#pool.answered(client)
  }

  silentSince(ms: number): void {
    this.#pool.silentSince(ms)
  }

  hurry(): void {
    this.#hurryUntil = monotonicMs() + hurryForMs
  }

  #takeLent(): pg.Client | undefined {
    const client = this.#lent.take()
    if (!client) return undefined
    if (this.#pool.isSuspect(client)) {
      this.#lent.giveBack(client, true)
      return undefined
    }
    this.#inUse = client
    return client
  }

  /** Counted before the connection is there, so that no two statements count on the same one. */
  #allowBeside(): Turn {
    this.#beside += 1
    return 'beside'
  }

  async #follow(turn: Turn): Promise<pg.ClientBase> {
    if (typeof turn === 'object') return turn
    if (turn === 'gone') this.#allowBeside()
    try {
      return await this.#pool.take()
    } catch (error) {
      this.#beside -= 1
      // A server that has no connection left to give is no reason to fail while there is the lent one.
      this.#refusedUntil = monotonicMs() + afterRefusalMs
      if (!this.#lent.isOpen) throw error
      return this.#takeLent() ?? this.#wait()
    }
  }

  #mayUseAnother(patienceOver: boolean): boolean {
    const now = monotonicMs()
    const inAHurry = now < this.#hurryUntil
    if (now < this.#refusedUntil || this.#beside >= (inAHurry ? beside.inAHurry : beside.usually)) return false
    return this.#pool.canGive && (inAHurry || patienceOver || this.#pool.hasIdle)
  }

  /** How long a statement may wait now. */
  #patienceMs(): number {
    const now = monotonicMs()
    this.#waitedMs = Math.max(0, this.#waitedMs - (now - this.#waitedAt) * waitingShare)
    this.#waitedAt = now
    return waitAtOnceMs - this.#waitedMs
  }

  async #wait(): Promise<pg.ClientBase> {
    const begun = monotonicMs()
    const turn = await new Promise<Turn>((resolve) => {
      const go = (turn: Turn) => {
        for (const timer of timers) clearTimeout(timer)
        resolve(turn)
      }
      const leave = (may: () => boolean) => () => {
        const nth = this.#waiting.indexOf(go)
        if (nth < 0 || !may()) return
        this.#waiting.splice(nth, 1)
        go(this.#allowBeside())
      }
      const timers = [
        setTimeout(
          leave(() => this.#mayUseAnother(true)),
          Math.max(1, this.#patienceMs()),
        ),
        setTimeout(
          leave(() => this.#pool.canGive),
          longestWaitMs,
        ),
      ]
      this.#waiting.push(go)
    })
    this.#waitedMs += monotonicMs() - begun
    return this.#follow(turn)
  }

  /** Something became free, or the lent connection is gone. */
  #serve(): void {
    for (;;) {
      const [first] = this.#waiting
      if (!first) return
      const lent = this.#takeLent()
      const another = !lent && this.#lent.isAwaited
      if (another && !this.#mayUseAnother(this.#patienceMs() <= 0)) return
      this.#waiting.shift()
      first(lent ?? (another ? this.#allowBeside() : 'gone'))
    }
  }
}
