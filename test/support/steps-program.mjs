/**
 * A worker process for one type whose jobs have ten steps. Its one argument is JSON: { database, file, type, kill: { step, when } }. Each run of
 * a step is a line in the file. At that step the process kills itself: before the effect, after it and before it is stored, or once it is.
 */
import { appendFileSync } from 'node:fs'
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { database, file, types, kill, worker = {} } = JSON.parse(process.argv[2])

function dieIf(step, when) {
  if (kill?.step !== step || kill.when !== when) return
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

async function run(_, ctx) {
  const results = []
  for (let n = 1; n <= 10; n++) {
    const result = await ctx.step('step', () => {
      dieIf(n, 'before')
      appendFileSync(file, `${ctx.job.type} ${n}\n`)
      dieIf(n, 'inside')
      return n * n
    })
    dieIf(n, 'after')
    results.push(result)
  }
  return results
}

const quiet = { info() {}, warn() {}, error() {} }
await startWorker(
  new Holdfast({ connectionString: database, connections: 3 }),
  types.map((type) => defineType({ type, run })),
  { logger: quiet, unsafe: true, ...worker },
)
process.stdout.write(`${JSON.stringify({ event: 'ready' })}\n`)
