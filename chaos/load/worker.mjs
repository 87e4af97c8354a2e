// A worker in a process of its own. Its one argument is JSON: { url, ledger, sinkPort, options, holdfast }.
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { url, ledger, sinkPort, options = {}, holdfast: holdfastOptions = {} } = JSON.parse(process.argv[2])
process.env.CHAOS_LEDGER = ledger
process.env.CHAOS_SINK_PORT = String(sinkPort)
const handlers = new URL('./handlers.mjs', import.meta.url)
const silent = { info() {}, warn() {}, error() {} }
const holdfast = new Holdfast({ connectionString: url, ...holdfastOptions })
// A bench that died is no reason to go on.
process.on('disconnect', () => process.exit(1))

/** As a supervisor does: a worker that cannot start yet is started again. */
async function untilStarted() {
  for (;;) {
    const started = await startWorker(holdfast, handlers, { logger: silent, unsafe: true, ...options }).catch(() => undefined)
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
