// The workers of one world: in this process, each by a way of its own that can be cut, and one in a process that can be killed.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { startProxy } from '../wire/proxy.mjs'
import { makeTypes } from './types.mjs'

/** Short leases: what is lost is found again within the sequence. Long enough that a busy machine keeps them. */
export const workerOptions = { concurrency: 12, lease: '3s', poll: '200ms', drain: '300ms', quarantineAfter: 20, unsafe: true }
const program = fileURLToPath(new URL('./worker-process.mjs', import.meta.url))
/** Settings from the environment belong to the whole process: whoever starts with some starts alone. */
let alone = Promise.resolve()
const starting = new Set()

async function startedWith(environment, start) {
  if (Object.keys(environment).length === 0) {
    await alone
    const under = start()
    starting.add(under)
    return under.finally(() => starting.delete(under))
  }
  const mine = alone.then(async () => {
    await Promise.allSettled([...starting])
    Object.assign(process.env, environment)
    return start()
  })
  const over = mine.finally(() => {
    for (const variable of Object.keys(environment)) delete process.env[variable]
  })
  alone = over.catch(() => {})
  return over
}

export class Fleet {
  #url
  #note
  #released
  #logger
  #workers = new Map()
  #coming = new Set()
  #process
  #starts = 0
  /** What each type uses in the code that workers start with. */
  uses = {}

  constructor(url, { note, released, logger }) {
    this.#url = url
    this.#note = note
    this.#released = released
    this.#logger = logger
  }

  get names() {
    return [...this.#workers.keys()]
  }

  /** Whether a worker of this name may be started now: there is none, and nobody else is starting it. */
  mayStart(name) {
    return !this.#workers.has(name) && !this.#coming.has(name)
  }

  /** @param {Record<string, string>} environment such as HOLDFAST_LANE_BULK_SLOTS */
  async start(name, environment = {}) {
    this.#coming.add(name)
    try {
      this.#workers.set(name, await this.#started(name, environment))
    } finally {
      this.#coming.delete(name)
    }
  }

  async #started(name, environment) {
    const proxy = await startProxy(Number(new URL(this.#url).port))
    const holdfast = new Holdfast({ connectionString: proxy.through(this.#url), statementTimeout: '20s', connections: 6 })
    // Whoever comes after it under its name is another one.
    const called = `${name}.${++this.#starts}`
    const types = makeTypes({ note: this.#note, worker: called, uses: this.uses, released: this.#released })
    const options = { ...workerOptions, name, logger: this.#logger }
    try {
      const worker = await startedWith(environment, () => startWorker(holdfast, types, options))
      return { worker, holdfast, proxy }
    } catch (error) {
      await Promise.all([holdfast.close(), proxy.close()])
      throw error
    }
  }

  async stop(name, { now = false } = {}) {
    const { worker, holdfast, proxy } = this.#workers.get(name) ?? {}
    if (!worker) return
    this.#workers.delete(name)
    await worker.stop({ now })
    await holdfast.close()
    await proxy.close()
  }

  /** Cuts every connection of a worker; it may connect again. */
  cut(name) {
    this.#workers.get(name)?.proxy.cut()
  }

  /** Everything the worker sends and hears is held back until it is healed. */
  freeze(name) {
    this.#workers.get(name)?.proxy.freeze()
  }

  async heal() {
    await Promise.all([...this.#workers.values()].map(({ proxy }) => proxy.heal()))
  }

  /** A worker in a process of its own; one at a time. */
  async startProcess() {
    if (this.#process) return
    const child = fork(program, [JSON.stringify({ url: this.#url, options: workerOptions, uses: this.uses })], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#process = child
    child.on('message', (entry) => this.#note(entry))
    const [first] = await Promise.race([once(child, 'message'), once(child, 'exit')])
    if (first?.kind !== 'ready') throw new Error('the worker process did not start')
  }

  async killProcess() {
    const child = this.#process
    if (!child) return false
    this.#process = undefined
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    this.#note({ kind: 'killed', pid: child.pid })
    return true
  }

  async close() {
    await this.killProcess()
    await Promise.all(this.names.map((name) => this.stop(name)))
  }
}
