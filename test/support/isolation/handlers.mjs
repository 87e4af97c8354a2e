// Job types that misbehave in every way there is, and some that do not, for the tests of isolation. Loaded by the worker
// and by its threads and processes.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { FatalError, RetryableError } from '../../../dist/errors.js'
import { defineType } from '../../../dist/job/type.js'

const misdeeds = {
  nothing() {},
  loop() {
    for (;;);
  },
  growArray() {
    // One growing array: the allocation that goes over the heap limit is large, which ends a whole process.
    const all = []
    for (;;) all.push(all.length)
  },
  growObjects() {
    const all = []
    for (;;) all.push({ all: [1, 2, 3] })
  },
  growBuffers() {
    const all = []
    for (;;) all.push(Buffer.alloc(4_000_000, 1))
  },
  exit: () => process.exit(3),
  kill: () => process.kill(process.pid, 'SIGKILL'),
  abort: () => process.abort(),
  segfault: () => process.kill(process.pid, 'SIGSEGV'),
  async reject() {
    void Promise.reject(new Error('nobody waited for me'))
    await sleep(60_000)
  },
  async throwLater() {
    setTimeout(() => {
      throw new Error('thrown in a timer')
    }, 1)
    await sleep(60_000)
  },
  never: () => new Promise(() => {}),
  hugeResult: () => 'x'.repeat(200_000_000),
  circularResult() {
    const result = {}
    result.self = result
    return result
  },
  importThrows: () => import('./throws.mjs'),
  fatal() {
    throw new FatalError('no use')
  },
  retryLater() {
    throw new RetryableError('not now', { after: '1h' })
  },
  throwNothing() {
    throw undefined
  },
}

const bad = { maxAttempts: 2, backoff: { base: 0, jitter: 0 }, timeout: '30s' }
const small = { memory: 64, grace: '200ms', atOnce: 2 }
const short = { timeout: '300ms' }

const run = ({ how }) => misdeeds[how]()
export const badThread = defineType({ type: 'bad_thread', ...bad, ...small, isolation: 'thread', run })
export const badProcess = defineType({ type: 'bad_process', ...bad, ...small, isolation: 'process', run })
export const badShortThread = defineType({ type: 'bad_short_thread', ...bad, ...small, ...short, isolation: 'thread', run })
export const badShortProcess = defineType({ type: 'bad_short_process', ...bad, ...small, ...short, isolation: 'process', run })
export const badRoomyThread = defineType({ type: 'bad_roomy_thread', ...bad, isolation: 'thread', memory: 600, run })
export const badRoomyProcess = defineType({ type: 'bad_roomy_process', ...bad, isolation: 'process', memory: 600, run })
export const badInline = defineType({ type: 'bad_inline', ...bad, ...short, run })

const nothing = () => {}
export const fine = defineType({ type: 'fine', run: nothing })
export const fineThread = defineType({ type: 'fine_thread', isolation: 'thread', memory: 64, atOnce: 2, run: nothing })
export const fineProcess = defineType({ type: 'fine_process', isolation: 'process', memory: 64, atOnce: 2, run: nothing })

/** Writes a line into the file of the payload: what the handler saw and where it ran. */
async function report({ file, wait = 0, note = '' }, ctx) {
  const seen = { ...ctx.job, fence: String(ctx.fence), pid: process.pid, isMainThread, note }
  appendFileSync(file, `${JSON.stringify(seen)}\n`)
  if (wait > 0) await sleep(wait, undefined, { signal: ctx.signal })
}
export const reportInline = defineType({ type: 'report_inline', run: report })
export const reportThread = defineType({ type: 'report_thread', isolation: 'thread', memory: 64, atOnce: 2, run: report })
export const reportProcess = defineType({ type: 'report_process', isolation: 'process', memory: 64, atOnce: 2, run: report })

/** Does with its context what the payload asks for. */
async function useContext({ ask, file }, ctx) {
  if (ask === 'extend') return ctx.extendLease('10m')
  if (ask === 'snooze' && ctx.job.attempt === 1) return ctx.snooze('1h')
  if (ask === 'signal') {
    await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
    appendFileSync(file, `${ctx.signal.reason.name}\n`)
  }
}
// Long enough for a question to the database and its answer on a busy machine.
const contextual = { ...bad, maxAttempts: 1, timeout: '5s', run: useContext }
export const contextThread = defineType({ type: 'context_thread', ...contextual, isolation: 'thread', grace: '5s' })
export const contextProcess = defineType({ type: 'context_process', ...contextual, isolation: 'process', grace: '5s' })

/** Runs as long as the file is there. */
async function whileFile({ file, misdeed }) {
  const { existsSync } = await import('node:fs')
  appendFileSync(`${file}.started`, `${process.pid}\n`)
  while (existsSync(file)) await sleep(10)
  if (misdeed) misdeeds[misdeed]()
}
export const gateThread = defineType({ type: 'gate_thread', isolation: 'thread', memory: 64, atOnce: 3, ...bad, run: whileFile })
export const gateInline = defineType({ type: 'gate_inline', ...bad, maxAttempts: 5, run: whileFile })

export const recycled = defineType({ type: 'recycled', isolation: 'process', atOnce: 1, recycle: { jobs: 5 }, run: report })
const kept = []
export const growing = defineType({
  type: 'growing',
  isolation: 'thread',
  memory: 400,
  atOnce: 1,
  recycle: { memory: 60 },
  run(payload, ctx) {
    kept.push(Buffer.alloc(30_000_000))
    return report({ ...payload, note: kept.length }, ctx)
  },
})

/** Says where it runs, and never lets go of its event loop. */
function spin({ file }) {
  appendFileSync(file, `${process.pid}\n`)
  for (;;);
}
export const spinThread = defineType({ type: 'spin_thread', isolation: 'thread', atOnce: 2, timeout: '1h', grace: 0, run: spin })
export const spinProcess = defineType({ type: 'spin_process', isolation: 'process', timeout: '1h', run: spin })
