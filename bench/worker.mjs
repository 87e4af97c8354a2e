// A worker in a process of its own, as in production. What it should do is in its argument; what it saw goes to its parent.
import { defineType, Holdfast } from '../dist/index.js'
import { startWorker } from '../dist/worker/index.js'

const { url, concurrency = 24, jobs = Number.POSITIVE_INFINITY } = JSON.parse(process.argv[2])
const silent = { info() {}, warn() {}, error: console.error }

/** The monotonic clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6

let handled = 0
let firstAt = 0
const latencies = []
const nothing = defineType({
  type: 'bench',
  async run(payload) {
    if (handled++ === 0) firstAt = now()
    if (payload.sentAt) latencies.push(now() - payload.sentAt)
  },
})

const holdfast = new Holdfast({ connectionString: url })
const worker = await startWorker(holdfast, [nothing], { concurrency, logger: silent })
const cpuAtStart = process.cpuUsage()
process.send({ kind: 'ready' })

if (Number.isFinite(jobs)) {
  const cpuBefore = process.cpuUsage()
  while (handled < jobs || worker.health().unwritten > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const { user, system } = process.cpuUsage(cpuBefore)
  process.send({ kind: 'drained', ms: now() - firstAt, cpuMs: (user + system) / 1000 })
}

process.on('message', async (kind) => {
  if (kind === 'report') {
    const { user, system } = process.cpuUsage(cpuAtStart)
    process.send({ kind: 'report', latencies, cpuMs: (user + system) / 1000 })
  }
  if (kind === 'stop') {
    await worker.stop()
    await holdfast.close()
    process.disconnect()
  }
})
