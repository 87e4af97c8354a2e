// One database with workers, a producer, an operator and a server, for one sequence of commands.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast, HoldfastError } from 'holdfast'
import { createServer } from 'holdfast/server'
import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { now } from '../evidence/ledger.mjs'
import { Books } from './books.mjs'
import { driftNow } from './drift.mjs'
import { Fleet } from './fleet.mjs'

/** An operation that nobody has disturbed is answered long before that, on a busy machine too. */
const patienceMs = 10_000
/** So long after a connection was cut, calls may still hear of it. */
const aftermathMs = 12_000
/** What an operation may say to a caller who did nothing wrong. */
const fair = ['unique_conflict', 'not_found', 'conflict', 'too_much_waiting']
const silent = { info() {}, warn() {}, error() {}, debug() {} }

export class World {
  books = new Books()
  adminKey = 'k'.repeat(40)
  /** What people behind HTTP have claimed and not settled. */
  remote = { registering: undefined, gone: new Set(), jobs: [] }
  /** The composite work that was acknowledged. */
  composed = { executions: [], batches: [] }
  #released = new AbortController()
  #harmedAt = Number.NEGATIVE_INFINITY
  #closing = []
  #busy

  /** @param {{ serverUrl: string, isolation?: string, patches?: object[] }} options patches are the deliberate defects of the negative controls */
  static async open({ serverUrl, isolation = 'read committed', patches = [] }) {
    const world = new World()
    world.isolation = isolation
    const scratch = await makeScratchDatabase(serverUrl)
    world.#closing.push(() => scratch.drop())
    world.url = scratch.connectionString
    world.#admin = new pg.Pool({ connectionString: world.url, max: 4, application_name: 'fuzz' })
    world.#admin.on('error', () => {})
    world.#closing.push(() => world.#admin.end())
    const database = new URL(world.url).pathname.slice(1)
    await world.sql(`alter database ${database} set default_transaction_isolation = '${isolation}'`)
    for (const patch of patches) await patch.put(world)
    world.holdfast = new Holdfast({ connectionString: world.url, statementTimeout: '20s', connections: 10 })
    world.#closing.push(() => world.holdfast.close())
    world.app = createServer(world.holdfast, { adminKey: world.adminKey, logger: silent })
    world.#closing.push(() => world.app.close())
    world.fleet = new Fleet(world.url, {
      note: (entry) => world.books.note(entry),
      released: world.#released.signal,
      logger: silent,
    })
    world.#closing.push(() => world.fleet.close())
    // The lane exists before a type can be moved there.
    await world.holdfast.flow.setLane('bulk', {}, { by: 'fuzz' }, { create: true })
    await Promise.all([world.fleet.start('w1'), world.fleet.start('w2')])
    return world
  }

  #admin

  async sql(text, values = []) {
    return (await this.#admin.query(text, values)).rows
  }

  /** A connection for a transaction of a producer's own. */
  async connection() {
    return this.#admin.connect()
  }

  /** Somebody was harmed: what fails from now on may fail for that. */
  harm() {
    this.#harmedAt = now()
    this.books.harmed = true
  }

  get inTrouble() {
    return now() - this.#harmedAt < aftermathMs
  }

  /**
   * One operation. It answers in time, or says in words of the product why not; everything else is a violation. Returns
   * { value }, or undefined where it was refused or is in doubt.
   */
  async act(what, work, { tolerate = [] } = {}) {
    const late = Symbol('late')
    let timer
    const patience = new Promise((resolve) => {
      timer = setTimeout(() => resolve(late), patienceMs)
    })
    const begun = now()
    try {
      const value = await Promise.race([work(), patience])
      if (value !== late) return { value }
      if (!this.inTrouble) this.books.violated(`${what} had no answer after ${patienceMs / 1000} s`)
    } catch (error) {
      if (this.inTrouble || (error instanceof HoldfastError && fair.includes(error.code)) || tolerate.includes(error.code)) return
      this.books.violated(
        `${what} failed after ${Math.round(now() - begun)} ms: ${error.name} ${error.code ?? ''} ${error.message}`,
      )
    } finally {
      clearTimeout(timer)
    }
  }

  /** Changes a setting that handlers are measured by. */
  async change(what, settings, work) {
    const answered = Object.entries(settings).map(([scope, value]) => this.books.changing(scope, value))
    const done = await this.act(what, work)
    if (done) for (const answer of answered) answer()
    return done
  }

  /** Looks whether everything fits together right now. */
  async look() {
    for (const sentence of await driftNow((text) => this.sql(text))) this.books.violated(sentence)
  }

  /** Short jobs all the time, so that whatever is done is done beside a load. */
  keepBusy(types, keys) {
    const requests = Array.from({ length: 6 }, (_, at) => {
      const key = at % 3 === 0 ? undefined : keys[at % keys.length]
      const payload = { how: 'ok', ms: 3 * at, ...(key ? { key } : {}) }
      return { type: types[at % types.length], payload, ...(key ? { concurrencyKey: key } : {}) }
    })
    const goOn = async () => {
      while (this.#busy && this.books.violations.length === 0) {
        const since = now()
        const [{ live }] = await this.sql('select count(*) as live from holdfast.queue')
        const done = Number(live) < 40 && (await this.act('enqueueMany', () => this.holdfast.enqueueMany(requests)))
        const call = { since, until: now() }
        if (done)
          for (const [at, { id }] of done.value.entries()) this.books.acknowledge(id, requests[at].payload, { call, place: at })
        await pause(20)
      }
    }
    this.#busy = goOn()
  }

  async comeToRest() {
    const busy = this.#busy
    this.#busy = undefined
    await busy
  }

  /** Handlers that hang go on. */
  release() {
    this.#released.abort()
  }

  async stopWorkers() {
    await this.app.close()
    await this.fleet.close()
  }

  async close() {
    this.release()
    await this.comeToRest().catch(() => {})
    // What still runs there, a statement that never ends among it, must not keep anybody waiting.
    const others = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query_start < clock_timestamp() - interval '5 seconds' and state = 'active'`
    await this.sql(others).catch(() => {})
    for (const close of this.#closing.splice(0).reverse()) await close().catch(() => {})
  }
}
