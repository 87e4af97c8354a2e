import type pg from 'pg'
import { monotonicMs, sleep } from '../clock.js'
import { ReadCommitted } from './read-committed.js'
import { isAway } from './sqlstate.js'

/** Where statements get their connections from. */
export interface Connections {
  readonly readCommitted: ReadCommitted
  /** A connection for one caller alone, until it is given back. */
  take(): Promise<pg.ClientBase>
  giveBack(client: pg.ClientBase, spoiled: boolean): void
  /** The connection has just answered. */
  answered(client: pg.ClientBase): void
  /** What was sent at that time was never answered. */
  silentSince(ms: number): void
  /** Many statements are to be sent at once. */
  hurry(): void
}

export const connectTimeoutMs = 5_000
const goodbyeMs = 1_000
/** A connection that answered this recently may be at work on a statement. */
const busyMs = 1_000

/** The connections of a pool. One that failed in any way is thrown away, never put back. */
export class PoolConnections implements Connections {
  readonly readCommitted = new ReadCommitted()
  readonly #pool: pg.Pool
  readonly #ownsPool: boolean
  /** Connections of our own pool that are not closed yet. */
  readonly #open = new Set<pg.PoolClient>()
  /** When each connection last answered. */
  readonly #answeredAt = new WeakMap<pg.ClientBase, number>()
  #suspectBefore = 0
  #troubles = 0
  /** When any of them last answered. */
  lastAnswerAt = 0

  constructor(pool: pg.Pool, ownsPool: boolean) {
    this.#pool = pool
    this.#ownsPool = ownsPool
    // Without a listener an error on an idle connection would end the process.
    pool.on('error', ignoreHandledElsewhere)
    pool.on('connect', this.readCommitted.ask)
    if (!ownsPool) return
    pool.on('connect', (client) => this.#open.add(client as pg.PoolClient))
    pool.on('remove', (client) => this.#open.delete(client as pg.PoolClient))
  }

  /** Whether a connection can be had without waiting for one that a caller of the pool holds. Of a pool of our own they never hold any. */
  get hasFree(): boolean {
    return this.#ownsPool || this.canGive
  }

  /** How many are open. */
  get open(): number {
    return this.#pool.totalCount
  }

  get most(): number {
    return this.#pool.options.max
  }

  /** Whether a connection can be had without waiting for one that somebody holds. */
  get canGive(): boolean {
    const { idleCount, totalCount, waitingCount, options } = this.#pool
    return idleCount + options.max - totalCount > waitingCount
  }

  /** Whether a connection is open and nobody has it. */
  get hasIdle(): boolean {
    return this.#pool.idleCount > this.#pool.waitingCount
  }

  async take(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await (this.#ownsPool ? this.#checkOut() : this.#checkOutInTime())
      if (!this.isSuspect(client)) return client
      this.giveBack(client, true)
    }
  }

  giveBack(client: pg.ClientBase, spoiled: boolean): void {
    client.off('error', ignoreHandledElsewhere)
    ;(client as pg.PoolClient).release(spoiled)
  }

  /** Counts a statement that did not reach the database. */
  hadTrouble(error: unknown): void {
    if (isAway(error)) this.#troubles += 1
  }

  /** How many there were since the last call. */
  takeTroubles(): number {
    const troubles = this.#troubles
    this.#troubles = 0
    return troubles
  }

  answered(client: pg.ClientBase): void {
    this.lastAnswerAt = monotonicMs()
    this.#answeredAt.set(client, this.lastAnswerAt)
  }

  /**
   * What was cut off without a word was not cut off alone. Connections that have answered since are fine; the others are not tried one
   * by one, a timeout each.
   */
  silentSince(ms: number): void {
    this.#suspectBefore = Math.max(this.#suspectBefore, ms)
  }

  /** The same, and what is under way on the others fails now: it would wait for an answer that does not come. */
  cutSilent(ms: number): void {
    this.silentSince(ms)
    for (const client of this.#open) if ((this.#answeredAt.get(client) ?? ms) < ms - busyMs) cutOff(client)
  }

  isSuspect(client: pg.ClientBase): boolean {
    const answeredAt = this.#answeredAt.get(client)
    return answeredAt !== undefined && answeredAt < this.#suspectBefore
  }

  /** A pool gives as many as it may at any time. */
  hurry(): void {}

  /** Resolves when every connection of ours has gone, the politely closed and the silent ones. A caller's pool stays open. */
  async close(): Promise<void> {
    if (!this.#ownsPool) {
      this.#pool.off('error', ignoreHandledElsewhere)
      this.#pool.off('connect', this.readCommitted.ask)
      return
    }
    if (!this.#pool.ending) await this.#pool.end()
    const deadline = monotonicMs() + goodbyeMs
    while (this.#open.size > 0 && monotonicMs() < deadline) await sleep(5)
    for (const client of this.#open) cutOff(client)
  }

  /**
   * The pool listens for errors only while a connection is idle, so we do while we have it. With the callback and not with the
   * promise: the server's last word can stand in the same packet as its first, and is heard before a promise goes on.
   */
  #checkOut(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      this.#pool.connect((error, client) => {
        if (!client) return reject(error)
        client.on('error', ignoreHandledElsewhere)
        resolve(client)
      })
    })
  }

  /** A caller's pool may be set to wait for ever, for the network or for those who hold all its connections. */
  async #checkOutInTime(): Promise<pg.PoolClient> {
    const checkingOut = this.#checkOut()
    const waited = new AbortController()
    const client = await Promise.race([checkingOut, sleep(connectTimeoutMs, { signal: waited.signal })]).finally(() =>
      waited.abort(),
    )
    if (client) return client
    checkingOut.then((late) => this.giveBack(late, false), ignoreHandledElsewhere)
    const all = `the pool has ${this.#pool.totalCount} of at most ${this.#pool.options.max} connections and none became free`
    throw new Error(`timeout exceeded when trying to connect: ${all}`)
  }
}

/** The failure reaches whoever runs the statement; the event only says it a second time. */
export function ignoreHandledElsewhere(): void {}

/** Closes the socket itself. The driver's end() waits for a server that may never answer. */
export function cutOff(client: pg.ClientBase): void {
  const { stream } = (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection ?? {}
  stream?.destroy()
}
