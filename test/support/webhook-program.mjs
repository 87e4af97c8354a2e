/**
 * A worker process of a type with a webhook and a reaction to deaths. Its one argument is JSON: { database, host, url, secret, worker }. At the
 * first attempt of a job whose payload says so the process kills itself: in the handler, before anything is settled, or in the hook, which is
 * called once the settle is committed.
 */
import { defineType, FatalError, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { database, host, url, secret, worker = {} } = JSON.parse(process.argv[2])

function die() {
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

let last
const mourn = defineType({ type: 'mourn', lane: 'maintenance' })
const mail = defineType({
  type: 'mail',
  onDead: { enqueue: mourn },
  webhook: { url, secret },
  limits: { breaker: false },
  run({ kill, dies }, { job }) {
    last = job.attempt === 1 ? kill : undefined
    if (last === 'before') die()
    if (dies) throw new FatalError('no such address')
  },
})
const afterSettle = () => last === 'after' && die()
const holdfast = new Holdfast({ connectionString: database, connections: 3, alertHosts: [host] })
await startWorker(holdfast, [mail], {
  concurrency: 1,
  logger: { info() {}, warn() {}, error() {} },
  unsafe: true,
  onComplete: afterSettle,
  onDead: afterSettle,
  ...worker,
})
process.stdout.write(`${JSON.stringify({ event: 'ready' })}\n`)
