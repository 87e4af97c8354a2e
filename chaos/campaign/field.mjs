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
import { startProxy } from '../wire/proxy.mjs'

const drainWithinMs = 90_000
/** Leases and timeouts of seconds, so that a campaign of a minute sees what a day of production does. */
const workerOptions = { lease: '2s', poll: '500ms', concurrency: 10, drain: '5s', unhealthyAfter: '10s' }
const holdfastOptions = { statementTimeout: '3s' }

export class Field {
  fleet = new Fleet()
  /** To be ended before the last look: what stands between the processes and the server has sessions too. */
  between = []

  /** `through` puts something else between the processes and the proxy of the field, and answers with its address. */
  static async open(server, { through, settings = {} } = {}) {
    const field = new Field()
    field.server = server
    field.directory = mkdtempSync(join(tmpdir(), 'holdfast-campaign-'))
    field.ledger = openLedger(join(field.directory, 'ledger.jsonl'))
    field.note = (entry) => field.ledger.note(entry)
    field.sink = await serveSink(new EffectSink(field.note))
    field.proxy = await startProxy(server.port)
    const holdfast = new Holdfast({ connectionString: server.url })
    await holdfast.migrate()
    for (const [lane, fields] of Object.entries(lanes)) await holdfast.flow.setLane(lane, fields, { by: 'chaos', create: true })
    await holdfast.close()
    field.settings = settings
    field.url = through ? await through(field) : field.proxy.through(server.url)
    return field
  }

  startWorker(harm) {
    const { url, ledger, sink, settings } = this
    const options = { ...workerOptions, ...settings.worker }
    const holdfast = { ...holdfastOptions, ...settings.holdfast }
    return this.fleet.start('worker', { url, ledger: ledger.path, sinkPort: sink.port, options, holdfast }, harm)
  }

  startProducer(seed, pauseMs = 30) {
    const holdfast = { ...holdfastOptions, ...this.settings.holdfast }
    return this.fleet.start('producer', { url: this.url, ledger: this.ledger.path, seed, pauseMs, holdfast })
  }

  /** Somebody who cancels what others enqueue. */
  startCanceller(seed, pauseMs = 250) {
    const holdfast = { ...holdfastOptions, ...this.settings.holdfast }
    return this.fleet.start('canceller', { url: this.url, ledger: this.ledger.path, seed, pauseMs, holdfast })
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
  async progress(count = 20) {
    const finished = () => this.ledger.entries().filter(({ kind }) => kind === 'finish').length
    const before = finished()
    for (let waited = 0; waited < 300; waited++) {
      if (finished() >= before + count) return true
      await pause(100)
    }
    return false
  }

  /** No more is asked for; what was is to come to its end, and everybody goes. */
  async finish(facts = []) {
    for (const busy of [...this.fleet.of('producer'), ...this.fleet.of('canceller')]) await this.fleet.stop(busy)
    for (let left = drainWithinMs; left > 0; left -= 250) {
      if ((await this.admin(unfinished)).length === 0) break
      await pause(250)
    }
    for (const worker of this.fleet.of('worker')) {
      if (!(await this.#saysItIsWell(worker))) facts.push(`I14: worker ${worker.pid} still calls itself unhealthy`)
      const stopped = await this.fleet.stop(worker)
      if (!stopped) facts.push(`I14: worker ${worker.pid} did not stop when it was told to`)
    }
    for (const end of this.between.splice(0)) await end()
    const entries = this.ledger.entries()
    // Whoever ran poison has said so before it died.
    const killed = new Set(entries.filter(({ kind }) => kind === 'killed').map(({ pid }) => pid))
    facts.push(...this.fleet.deserters.filter(({ pid }) => !killed.has(pid)).map(({ how }) => `I14: ${how}`))
    const history = await readHistory(this.server.url, entries, { promises, mayStay: ['chaos admin', 'chaos hoarder'] })
    const count = (kind) => entries.filter((entry) => entry.kind === kind).length
    return { verdicts: check(history), facts, acknowledged: count('acknowledged'), executions: count('start'), history }
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
