// A worker process whose handlers say to the oracle of a test when they begin, hear their signal and end.
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineType, Holdfast } from '../../dist/index.js'
import { startWorker } from '../../dist/worker/index.js'

const { port, connectionString, concurrency = 10, lease, listen = true, acknowledged = true } = JSON.parse(process.env.ORACLE)
const socket = connect(port, '127.0.0.1')
socket.setNoDelay(true)
socket.on('error', () => process.exit(1))
const waiting = new Map()
let asked = 0
createInterface({ input: socket }).on('line', (line) => {
  waiting.get(Number(line))?.()
  waiting.delete(Number(line))
})

function say(what, job, detail, heard = acknowledged) {
  const ack = heard ? ++asked : undefined
  const answer = heard ? new Promise((resolve) => waiting.set(ack, resolve)) : undefined
  socket.write(`${JSON.stringify({ what, job, worker: process.pid, detail, ack })}\n`)
  return answer
}

/** Payload: how long to work; how long to go on after the signal; an error to end with. */
const job = defineType({
  type: 'watched',
  maxAttempts: 3,
  backoff: { base: 3_600_000, cap: 3_600_000, jitter: 0 },
  timeout: '60s',
  async run({ ms = 0, stubborn = 0, fails }, ctx) {
    const { id } = ctx.job
    await say('begin', id)
    try {
      await sleep(ms, undefined, { signal: ctx.signal })
      if (fails) throw new Error(fails)
    } catch (error) {
      if (!ctx.signal.aborted) throw error
      say('abort', id, ctx.signal.reason.name, false)
      await sleep(stubborn)
    } finally {
      await say('end', id)
    }
  },
})

const holdfast = new Holdfast({ connectionString })
const logger = { info() {}, warn() {}, error() {} }
const worker = await startWorker(holdfast, [job], { logger, concurrency, listen, unsafe: true, ...(lease ? { lease } : {}) })
for (const event of ['job.completed', 'job.failed', 'job.dead', 'job.cancelled', 'settle.late']) {
  worker.events.on(event, ({ job }) => say('told', job, event, false))
}
say('ready', '', undefined, false)
