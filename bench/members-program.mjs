// A process of its own for the rows of several databases: it stores jobs in all members, and works for all of them with shared slots.
import { defineType, Holdfasts } from '../dist/index.js'
import { startWorkers } from '../dist/worker/index.js'
import { answerCalls } from './answering.mjs'
import { makePayload } from './systems/payload.mjs'

const silent = { info() {}, warn() {}, error: console.error }
const perCall = 1_000
let holdfasts
let workers
let [handled, wanted] = [0, Number.POSITIVE_INFINITY]
let done = () => {}

const type = defineType({
  type: 'bench',
  run() {
    if (++handled === wanted) done()
  },
})

answerCalls({
  async open({ members }) {
    holdfasts = new Holdfasts({ members })
    await holdfasts.migrate()
    await holdfasts.registerTypes([type])
  },

  /** As many jobs in each member, one call after the other. */
  async fill({ jobs }) {
    const names = holdfasts.names
    for (let stored = 0; stored < jobs; stored += perCall) {
      const some = Array.from({ length: Math.min(perCall, jobs - stored) }, () => type.job(makePayload()))
      await holdfasts.enqueueMany(some, { member: names[(stored / perCall) % names.length] })
    }
  },

  /** Runs that many jobs, and tells how long that took and what it cost this process. */
  async drain({ jobs }) {
    const all = new Promise((resolve) => {
      done = resolve
    })
    wanted = jobs
    const [begun, cpu] = [performance.now(), process.cpuUsage()]
    workers = await startWorkers(holdfasts, [type], { concurrency: 24, logger: silent })
    await all
    const ms = performance.now() - begun
    const { user, system } = process.cpuUsage(cpu)
    return { ms, cpuMs: (user + system) / 1000 }
  },

  async close() {
    await workers?.stop()
    await holdfasts?.close()
  },
})
