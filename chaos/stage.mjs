// A small stage for one case: a database of its own, a ledger, a sink, producers and workers in this process.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast, HoldfastError } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { insideOf } from '../dist/inside.js'
import { readHistory, unfinished } from './check/state.mjs'
import { fingerprint } from './evidence/fingerprint.mjs'
import { now, openLedger } from './evidence/ledger.mjs'
import { EffectSink } from './evidence/sink.mjs'
import { backoffFor, backoffMs, makeWork, work } from './load/handler.mjs'

const silent = { info() {}, warn() {}, error() {} }
/** Leases of seconds instead of minutes: what is lost on the way is found again within the case. */
export const quickWorker = { lease: '1s', poll: '200ms', drain: '2s', unsafe: true, logger: silent }

let calls = 0

export class Stage {
  holdfastClass = Holdfast
  startWorker = startWorker
  /** Where nothing is broken, nobody gives up early. */
  patient = false
  /** What a negative control does to every way into the queue that is opened here. */
  wrap = () => {}
  gates = new Map()
  promises = {}
  backoffMs = backoffMs
  #closing = []

  static async open(serverUrl, { empty = false } = {}) {
    const stage = new Stage()
    stage.directory = mkdtempSync(join(tmpdir(), 'holdfast-case-'))
    const removeDirectory = () => rmSync(stage.directory, { recursive: true, force: true })
    // A run that is cut short closes no stage.
    process.once('exit', removeDirectory)
    stage.#closing.push(() => {
      process.off('exit', removeDirectory)
      removeDirectory()
    })
    stage.ledger = openLedger(join(stage.directory, 'ledger.jsonl'))
    stage.#closing.push(() => stage.ledger.close())
    const scratch = await makeScratchDatabase(serverUrl)
    stage.#closing.push(() => scratch.drop())
    stage.url = scratch.connectionString
    stage.pool = new pg.Pool({ connectionString: stage.url, max: 2, application_name: 'chaos stage' })
    stage.pool.on('error', () => {})
    stage.#closing.push(() => stage.pool.end())
    stage.note = (entry) => stage.ledger.note(entry)
    stage.sink = new EffectSink(stage.note)
    stage.retryAfter(backoffMs)
    if (empty) await stage.sql('drop schema holdfast cascade')
    return stage
  }

  /** What fails is tried again after so long, by the workers that are started from now on. */
  retryAfter(ms) {
    const { note, sink, gates } = this
    this.backoffMs = ms
    this.work = makeWork({ note, sink, gates, definition: { type: 'work', backoff: backoffFor(ms) } })
  }

  async sql(text, values = []) {
    return (await this.pool.query(text, values)).rows
  }

  /** A way into the queue, closed with the stage. Impatient where things break: a case waits for its timeouts. */
  producer(url = this.url, options = {}) {
    const statementTimeout = url === this.url || this.patient ? '20s' : '1200ms'
    const holdfast = new this.holdfastClass({ connectionString: url, statementTimeout, ...options })
    this.onClose(() => holdfast.close())
    this.wrap(holdfast, insideOf(holdfast))
    return holdfast
  }

  /** A worker, started again where it could not start: on a broken way, and as a supervisor does. */
  async worker(url = this.url, options = {}) {
    const holdfast = this.producer(url)
    for (let tries = 1; ; tries++) {
      try {
        const lease = this.patient ? { lease: '3s' } : {}
        const worker = await this.startWorker(holdfast, [this.work], { ...quickWorker, ...lease, ...options })
        this.onClose(() => worker.stop({ now: true }))
        return worker
      } catch (error) {
        if (tries === 5) throw error
      }
    }
  }

  /** What was opened last is closed first. */
  onClose(close) {
    this.#closing.push(close)
  }

  /** One gate that jobs with this name in their payload wait at. */
  gate(name) {
    let open
    this.gates.set(name, new Promise((resolve) => (open = resolve)))
    this.onClose(() => open())
    return () => open()
  }

  /**
   * Enqueues as a producer who keeps books: first that it asks, then what it was told. `perform` gets the requests and
   * answers like enqueueMany. Answers undefined where the call failed.
   */
  async enqueue(perform, specs, { key, pace } = {}) {
    const call = ++calls
    const requests = specs.map(({ options = {}, ends, ...payload }) =>
      work.job({ call, ...payload }, { maxAttempts: 20, ...options }),
    )
    const asked = now()
    const { unique } = specs[0]
    const about = unique ? { unique } : {}
    this.note({ kind: 'asked', call, count: requests.length, ...about, ...(key ? { key } : {}) })
    let answers
    try {
      answers = await perform(requests)
    } catch (error) {
      const doubtful = !(error instanceof HoldfastError) || error.code === 'database_unavailable'
      this.note({ kind: doubtful ? 'in_doubt' : 'refused', call, ...about, error: String(error.message) })
      return undefined
    }
    for (const [at, { id: job, status }] of answers.entries()) {
      const { payload, idempotencyKey, unique: rule } = requests[at]
      const delay = pace ? Math.floor((at * 1_000) / pace) : requests[at].delay
      // A job that can be given another payload may have been, by a call that was told nothing.
      const mayChange = rule && !['reject', 'existing'].includes(rule.onConflict)
      const { ends } = specs[at]
      this.note({
        kind: 'acknowledged',
        call,
        job,
        status,
        ...(mayChange ? {} : { payload: fingerprint(payload) }),
        backoffMs: this.backoffMs,
        ...about,
        ...(rule ? { policy: rule.onConflict } : {}),
        ...(idempotencyKey ? { key: idempotencyKey } : {}),
        ...(delay ? { notBefore: asked + delay } : {}),
        ...(ends ? { ends } : {}),
      })
    }
    return answers
  }

  /** Waits until every job has come to its end, with a worker of its own beside whoever is there. False: not in time. */
  async drain({ withinMs = 25_000 } = {}) {
    const worker = await this.worker()
    try {
      return await this.until(async () => (await this.sql(unfinished)).length === 0, withinMs)
    } finally {
      await worker.stop({ now: true })
    }
  }

  async until(fact, withinMs = 20_000) {
    const deadline = performance.now() + withinMs
    while (performance.now() < deadline) {
      if (await fact()) return true
      await pause(20)
    }
    return false
  }

  /** Ends whoever still works, so that the history can be read at rest. */
  async rest() {
    const [keep, rest] = [this.#closing.slice(0, 3), this.#closing.slice(3)]
    this.#closing = keep
    for (const close of rest.reverse()) await close()
    this.pool = new pg.Pool({ connectionString: this.url, max: 1, application_name: 'chaos stage' })
    this.pool.on('error', () => {})
    this.onClose(() => this.pool.end())
  }

  /** Everything the witnesses say; the stage has come to rest. */
  async history() {
    const holdfast = new this.holdfastClass({ connectionString: this.url })
    const counts = await insideOf(holdfast).store.inspect.countByStatus()
    await holdfast.close()
    return readHistory(this.url, this.ledger.entries(), { promises: this.promises, counts, mayStay: ['chaos stage'] })
  }

  async close() {
    for (const close of this.#closing.splice(0).reverse()) await close()
  }
}
