// A worker in a process of its own. Its one argument is JSON: { url, ledger, sinkPort, options, holdfast }.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { openLedger } from '../evidence/ledger.mjs'
import { reachSink } from '../evidence/sink.mjs'
import { makeWork } from './handler.mjs'

const { url, ledger, sinkPort, options = {}, holdfast: holdfastOptions = {} } = JSON.parse(process.argv[2])
const { note } = openLedger(ledger)
const work = makeWork({ note, sink: reachSink(sinkPort) })
const silent = { info() {}, warn() {}, error() {} }
const holdfast = new Holdfast({ connectionString: url, ...holdfastOptions })

/** As a supervisor does: a worker that cannot start yet is started again. */
async function untilStarted() {
  for (;;) {
    const started = await startWorker(holdfast, [work], { logger: silent, unsafe: true, ...options }).catch(() => undefined)
    if (started) return started
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

const worker = await untilStarted()
process.on('SIGTERM', async () => {
  await worker.stop()
  await holdfast.close()
  process.exit(0)
})
process.on('message', (question) => process.send({ question, health: worker.health(), memory: process.memoryUsage().rss }))
process.send({ question: 'ready' })
