/**
 * A worker process whose handler writes a row and completes its job in one transaction. Its one argument is JSON: { database, worker }.
 * At the first attempt of a job whose payload says so, the process kills itself: before the commit, or once it has been answered.
 */
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { database, worker = {} } = JSON.parse(process.argv[2])

function dieIf(die) {
  if (!die) return
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

async function run({ order, kill }, ctx) {
  const first = ctx.job.attempt === 1
  await ctx.completeWith(async (tx) => {
    await tx.query('insert into orders values ($1, $2)', [order, ctx.job.attempt])
    dieIf(first && kill === 'before')
    return order
  })
  dieIf(first && kill === 'after')
}

const quiet = { info() {}, warn() {}, error() {} }
await startWorker(new Holdfast({ connectionString: database, connections: 3 }), [defineType({ type: 'order', run })], {
  concurrency: 1,
  logger: quiet,
  unsafe: true,
  ...worker,
})
process.stdout.write(`${JSON.stringify({ event: 'ready' })}\n`)
