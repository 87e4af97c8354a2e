/** A worker process for chunk-handlers.mjs. Its one argument is JSON: { database, worker }. */
import { Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { database, worker = {} } = JSON.parse(process.argv[2])
const quiet = { info() {}, warn() {}, error() {} }
const file = new URL('./chunk-handlers.mjs', import.meta.url)
await startWorker(new Holdfast({ connectionString: database, connections: 3 }), file, { logger: quiet, unsafe: true, ...worker })
process.stdout.write(`${JSON.stringify({ event: 'ready' })}\n`)
