// Holdfast with handlers of several steps, the same with checkpoints of their own, and workflows: what is stored on the way to the end.
import { defineType, defineWorkflow, Holdfast } from '../../dist/index.js'
import { startWorker as start } from '../../dist/worker/index.js'
import { prepare as prepareHoldfast } from './holdfast.mjs'

const silent = { info() {}, warn() {}, error: console.error }
const tasks = ['first', 'second', 'third']

const makeWorkflow = (run) =>
  defineWorkflow({
    name: 'bench-flow',
    tasks(task) {
      let last
      for (const name of tasks) last = task(name, { ...(last ? { after: [last] } : {}), run })
      return last
    },
  })

/** What a handler does besides being counted. */
const handlers = {
  plain: () => async () => {},
  steps: (count) => async (_payload, ctx) => {
    for (let n = 0; n < count; n++) await ctx.step(`step ${n}`, async () => ({ n }))
  },
  checkpoints: (count) => async (_payload, ctx) => {
    for (let n = 0; n < count; n++) await ctx.checkpoint({ n })
  },
}

export async function prepare(url) {
  await prepareHoldfast(url)
  const holdfast = new Holdfast({ connectionString: url })
  await holdfast.executions.register(makeWorkflow(async () => {}))
  await holdfast.close()
}

/** `kind: 'workflow'`: what is stored are executions. */
export function openProducer(url, { connections, kind }) {
  const holdfast = new Holdfast({ connectionString: url, connections })
  return {
    many: (payloads) =>
      kind === 'workflow'
        ? Promise.all(payloads.map((payload) => holdfast.start('bench-flow', payload)))
        : holdfast.enqueueMany(payloads.map((payload) => ({ type: 'bench', payload }))),
    close: () => holdfast.close(),
  }
}

/** Counts executions by their last task, and jobs one by one. */
export async function startWorker(url, { kind, count }, handle) {
  const holdfast = new Holdfast({ connectionString: url })
  let handled = 0
  const done = () => handled++
  const types =
    kind === 'workflow'
      ? makeWorkflow(async (payload, ctx) => {
          handle(payload)
          if (ctx.job.type.endsWith('third')) done()
        }).types
      : [defineType({ type: 'bench', run: counted(handlers[kind](count), handle, done) })]
  const worker = await start(holdfast, types, { concurrency: 24, logger: silent })
  return {
    settled: () => handled - Math.min(handled, worker.health().unwritten),
    async stop() {
      await worker.stop()
      await holdfast.close()
    },
  }
}

/** The clock runs from the beginning of the first. */
const counted = (run, handle, done) => async (payload, ctx) => {
  handle(payload)
  await run(payload, ctx)
  done()
}
