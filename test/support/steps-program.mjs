/**
 * A worker process for types whose jobs have ten steps, or one of each kind. Its one argument is JSON: { database, file, types, handler: 'ten' or
 * 'kinds', kill: { step, when } }. Each run of a step is a line in the file. At that step the process kills itself: before the effect, after it and
 * before it is stored, or once it is. A sleep or a wait is killed inside when it is stored and the end of its attempt is not.
 */
import { appendFileSync } from 'node:fs'
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { database, file, types, handler = 'ten', kill, worker = {} } = JSON.parse(process.argv[2])

function dieIf(step, when) {
  if (kill?.step !== step || kill.when !== when) return
  process.kill(process.pid, 'SIGKILL')
  for (;;);
}

async function ten(_, ctx) {
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

const sleepMs = 300

async function kinds(_, ctx) {
  const note = (...words) => appendFileSync(file, `${[ctx.job.type, ...words].join(' ')}\n`)
  let standing
  // A handler that sleeps or waits is left where it stands, and its signal fires before anybody is told.
  ctx.signal.addEventListener('abort', () => dieIf(standing, 'inside'))
  dieIf('once', 'before')
  const key = await ctx.once('once', (key) => {
    note('once', key)
    dieIf('once', 'inside')
    return key
  })
  dieIf('once', 'after')
  standing = 'sleep'
  note('sleep', Date.now())
  dieIf('sleep', 'before')
  await ctx.sleep(sleepMs)
  note('woke', Date.now())
  dieIf('sleep', 'after')
  standing = 'wait'
  dieIf('wait', 'before')
  const signal = await ctx.waitFor('go')
  dieIf('wait', 'after')
  return ctx.step('last', () => ({ key, signal }))
}

const run = { ten, kinds }[handler]
const quiet = { info() {}, warn() {}, error() {} }
await startWorker(
  new Holdfast({ connectionString: database, connections: 3 }),
  types.map((type) => defineType({ type, run })),
  { logger: quiet, unsafe: true, ...worker },
)
process.stdout.write(`${JSON.stringify({ event: 'ready' })}\n`)
