// Where a campaign takes place: a server, a way to it that can break, processes that work, and the witnesses.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import pg from 'pg'
import { check } from '../check/checker.mjs'
import { readHistory, unfinished } from '../check/state.mjs'
import { openLedger } from '../evidence/ledger.mjs'
import { EffectSink, serveSink } from '../evidence/sink.mjs'
import { Fleet } from '../load/fleet.mjs'
import { lanes, promises } from '../load/types.mjs'
import { freePort } from '../programs.mjs'
import { startProxy } from '../wire/proxy.mjs'

const drainWithinMs = 90_000
/** Leases and timeouts of seconds, so that a campaign of a minute sees what a day of production does. */
const workerOptions = { lease: '2s', poll: '500ms', concurrency: 10, drain: '5s', unhealthyAfter: '10s' }
const holdfastOptions = { statementTimeout: '3s' }
const adminKey = 'chaos-key-of-no-other-use'
/** Whoever asks for jobs or acts on them; they go before those who do the work. */
const asking = ['producer', 'http-producer', 'canceller', 'operator', 'composer']

export class Field {
  fleet = new Fleet()
  /** To be ended before the last look: what stands between the processes and the server has sessions too. */
  between = []
  /** What the checker may expect of this campaign. */
  promises = { ...promises }

  /**
   * `through` puts something else between the processes and the proxy of the field, and answers with its address. `version` is
   * the one of the package that its processes use, if not this one.
   */
  static async open(server, { through, settings = {}, version } = {}) {
    const field = new Field()
    field.server = server
    field.directory = mkdtempSync(join(tmpdir(), 'holdfast-campaign-'))
    field.ledger = openLedger(join(field.directory, 'ledger.jsonl'))
    field.note = (entry) => field.ledger.note(entry)
    field.sink = await serveSink(new EffectSink(field.note))
    field.proxy = await startProxy(server.port)
    field.version = version
    await version?.migrate(server.url)
    const holdfast = new Holdfast({ connectionString: server.url })
    if (!version) await holdfast.migrate()
    for (const [lane, fields] of Object.entries(lanes))
      await holdfast.flow.setLane(lane, fields, { by: 'chaos' }, { create: true })
    await holdfast.close()
    field.settings = settings
    field.url = through ? await through(field) : field.proxy.through(server.url)
    return field
  }

  startWorker(harm) {
    const { url, ledger, sink, settings } = this
    const options = { ...workerOptions, ...settings.worker }
    const holdfast = { ...holdfastOptions, ...settings.holdfast }
    const programs = this.version?.programs
    return this.fleet.start('worker', { url, ledger: ledger.path, sinkPort: sink.port, options, holdfast }, { ...harm, programs })
  }

  /** `only`: 'tx' for one that knows no other way than its own transactions. */
  startProducer(seed, pauseMs = 30, only = undefined) {
    const holdfast = { ...holdfastOptions, ...this.settings.holdfast }
    const programs = this.version?.programs
    return this.fleet.start('producer', { url: this.url, ledger: this.ledger.path, seed, pauseMs, only, holdfast }, { programs })
  }

  /** Somebody on call, who is never idle. One of them replays dead letters. */
  startOperator(seed, { replays = false, pauseMs = 30 } = {}) {
    const holdfast = { ...holdfastOptions, ...this.settings.holdfast }
    return this.fleet.start('operator', { url: this.url, ledger: this.ledger.path, seed, pauseMs, replays, holdfast })
  }

  /** Somebody who asks for steps, sleeps, signals, workflows and batches. */
  startComposer(seed, pauseMs = 60) {
    const holdfast = { ...holdfastOptions, ...this.settings.holdfast }
    return this.fleet.start('composer', { url: this.url, ledger: this.ledger.path, seed, pauseMs, holdfast })
  }

  /** Somebody who cancels what others enqueue. */
  startCanceller(seed, pauseMs = 250) {
    const holdfast = { ...holdfastOptions, ...this.settings.holdfast }
    return this.fleet.start('canceller', { url: this.url, ledger: this.ledger.path, seed, pauseMs, holdfast })
  }

  /** The HTTP server, always at the same address. */
  async startHttpServer() {
    this.httpPort ??= await freePort()
    const holdfast = { ...holdfastOptions, ...this.settings.holdfast }
    return this.fleet.start('http-server', { url: this.url, port: this.httpPort, adminKey, holdfast })
  }

  startRemoteWorker() {
    const address = `http://127.0.0.1:${this.httpPort}`
    return this.fleet.start('remote-worker', { address, adminKey, ledger: this.ledger.path, sinkPort: this.sink.port })
  }

  startHttpProducer(seed, pauseMs = 60) {
    const address = `http://127.0.0.1:${this.httpPort}`
    return this.fleet.start('http-producer', { address, adminKey, ledger: this.ledger.path, seed, pauseMs })
  }

  /** Resolves when one more job was acknowledged over HTTP. False: not within half a minute. */
  acknowledgedOverHttp() {
    return this.#countsUp(1, ({ kind, through }) => kind === 'acknowledged' && through === 'http')
  }

  /** Resolves when one more job was acknowledged to that process. False: not within half a minute. */
  acknowledgedTo(pid) {
    return this.#countsUp(1, ({ kind, call }) => kind === 'acknowledged' && String(call).startsWith(`${pid}-`))
  }

  /** A statement past everything, for the bench itself. */
  async admin(text, values = [], url = this.server.url) {
    const client = new pg.Client({ connectionString: url, application_name: 'chaos admin', connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      return (await client.query(text, values)).rows
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Strikes, and writes down what and when, so that the checker can ask what followed. */
  async strike(name, fault, random, report) {
    this.note({ kind: 'fault', fault: name })
    await fault(this, random)
    this.note({ kind: 'healed', fault: name })
    report.fault(name)
  }

  /** Resolves when so many more executions have come to their end. False: not within half a minute. */
  progress(count = 20) {
    return this.#countsUp(count, ({ kind }) => kind === 'finish')
  }

  async #countsUp(by, what) {
    const counted = () => this.ledger.entries().filter(what).length
    const before = counted()
    for (let waited = 0; waited < 300; waited++) {
      if (counted() >= before + by) return true
      await pause(100)
    }
    return false
  }

  /** No more is asked for; what was is to come to its end, and everybody goes. `judged`: what of the history is checked. */
  async finish(facts = [], judged = (history) => history) {
    for (const busy of asking.flatMap((role) => this.fleet.of(role))) await this.fleet.stop(busy)
    for (let left = drainWithinMs; left > 0; left -= 250) {
      if ((await this.admin(unfinished)).length === 0) break
      await pause(250)
    }
    // First those who need the server to say how their jobs ended.
    for (const member of ['remote-worker', 'http-server'].flatMap((role) => this.fleet.of(role)))
      if (!(await this.fleet.stop(member))) facts.push(`I14: ${member.role} ${member.pid} did not stop when it was told to`)
    for (const worker of this.fleet.of('worker')) {
      if (!(await this.#saysItIsWell(worker))) facts.push(`I14: worker ${worker.pid} still calls itself unhealthy`)
      const stopped = await this.fleet.stop(worker)
      if (!stopped) facts.push(`I14: worker ${worker.pid} did not stop when it was told to`)
    }
    for (const end of this.between.splice(0)) await end()
    this.proxy.endLost()
    const entries = this.ledger.entries()
    // Whoever ran poison has said so before it died.
    const killed = new Set(entries.filter(({ kind }) => kind === 'killed').map(({ pid }) => pid))
    facts.push(...this.fleet.deserters.filter(({ pid }) => !killed.has(pid)).map(({ how }) => `I14: ${how}`))
    const history = await readHistory(this.server.url, entries, {
      promises: this.promises,
      mayStay: ['chaos admin', 'chaos hoarder'],
    })
    const count = (kind) => entries.filter((entry) => entry.kind === kind).length
    return { verdicts: check(judged(history)), facts, acknowledged: count('acknowledged'), executions: count('start'), history }
  }

  async #saysItIsWell(worker) {
    for (let tries = 0; tries < 100; tries++) {
      if ((await this.fleet.health(worker)).health.status === 'ok') return true
      await pause(200)
    }
    return false
  }

  async close() {
    await this.fleet.end()
    for (const end of this.between.splice(0)) await end()
    await this.proxy.close()
    await this.sink.close()
    this.ledger.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
}
