/**
 * Workers in a process of their own, for tests that take the database away. Its one argument is JSON: { holdfast, worker,
 * workers }. What a job does stands in its payload:
 *   gate name   goes on when the parent has opened that gate
 *   ms n        takes that long
 *   fail true   throws
 *   spawn n     enqueues that many jobs from inside the handler
 * The parent hears of every start and end, and asks with { ask, id }.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { holdfast: options, worker: workerOptions = {}, workers: count = 1 } = JSON.parse(process.argv[2])
const open = new Set()
const waiting = new Map()
const gate = (name) => open.has(name) || new Promise((resolve) => waiting.set(resolve, name))

const work = defineType({
  type: 'work',
  backoff: { base: '1s', factor: 1, cap: '1s', jitter: 0 },
  limits: { breaker: false },
  async run(payload, { job }) {
    process.send({ said: 'started', job: job.id, attempt: job.attempt })
    if (payload.gate) await gate(payload.gate)
    if (payload.ms) await pause(payload.ms)
    for (let n = 0; n < (payload.spawn ?? 0); n++) await holdfast.enqueue(work, {})
    if (payload.fail) throw new Error('fails as told')
    process.send({ said: 'ended', job: job.id, attempt: job.attempt })
  },
})

const holdfast = new Holdfast(options)
const quiet = { info() {}, warn() {}, error() {} }
const workers = []
for (let n = 0; n < count; n++) workers.push(await startWorker(holdfast, [work], { logger: quiet, ...workerOptions }))
for (const name of ['settle.late', 'lease.lost', 'lease.rescued', 'duty.failed', 'database.away', 'database.back']) {
  for (const worker of workers) worker.events.on(name, (fields) => process.send({ said: name, ...fields }))
}

const answers = {
  health: () => workers[0].health(),
  cpuMs: () => Object.values(process.cpuUsage()).reduce((sum, micros) => sum + micros, 0) / 1000,
  async stop() {
    await Promise.all(workers.map((worker) => worker.stop()))
    await holdfast.close()
    // From here on the process must end by itself.
    process.disconnect()
  },
}

process.on('message', async (message) => {
  if (message.open) {
    open.add(message.open)
    for (const [resolve, name] of waiting) if (name === message.open && waiting.delete(resolve)) resolve()
    return
  }
  const answer = await answers[message.ask]()
  if (process.connected) process.send({ said: 'answer', id: message.id, answer })
})
process.send({ said: 'ready', workers: workers.map((worker) => worker.id) })
