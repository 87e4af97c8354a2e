// A worker that does nothing but count, a second at a time, and tells its parent. Its one argument is JSON: { url, options }.
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { url, options = {}, holdfast: holdfastOptions = {} } = JSON.parse(process.argv[2])
const silent = { info() {}, warn() {}, error() {} }
let done = 0
const type = defineType({
  type: 'steady',
  async run() {
    done += 1
  },
})
const holdfast = new Holdfast({ connectionString: url, ...holdfastOptions })
const worker = await startWorker(holdfast, [type], { logger: silent, unsafe: true, ...options })
process.on('SIGTERM', async () => {
  await worker.stop()
  await holdfast.close()
  process.exit(0)
})
process.on('message', (question) => {
  process.send({
    question,
    done,
    health: worker.health(),
    memory: process.memoryUsage().rss,
    heap: process.memoryUsage().heapUsed,
  })
})
process.send({ question: 'ready' })
