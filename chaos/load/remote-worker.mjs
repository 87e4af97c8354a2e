// A worker that knows nothing but HTTP, in a process of its own. Its one argument is JSON: { address, adminKey, ledger,
// sinkPort }. Whatever is not answered is asked again, as the protocol says; a result is sent until somebody has answered it.
import { setTimeout as pause } from 'node:timers/promises'
import { FatalError } from 'holdfast'
import { openLedger } from '../evidence/ledger.mjs'
import { reachSink } from '../evidence/sink.mjs'
import { backoffFor, backoffMs, makeWork } from './handler.mjs'

const { address, adminKey, ledger, sinkPort } = JSON.parse(process.argv[2])
const { run } = makeWork({ note: openLedger(ledger).note, sink: reachSink(sinkPort), definition: { type: 'afar' } })
const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
const lease = '2s'
const mostAtOnce = 5
/** What runs here: a job's lease, and how to tell it that it is over. */
const running = new Map()
let worker
let stopping = false
process.on('SIGTERM', () => {
  stopping = true
})
// A bench that died is no reason to go on.
process.on('disconnect', () => process.exit(1))

/** Undefined: it was not answered, or the server could not. */
async function ask(path, body) {
  const signal = AbortSignal.timeout(4_000)
  const request = { method: 'POST', headers, body: JSON.stringify(body), signal }
  const answer = await fetch(`${address}/worker/${path}`, request).catch(() => undefined)
  return answer?.ok ? answer.json().catch(() => undefined) : undefined
}

async function untilAnswered(path, body) {
  for (;;) {
    const answer = await ask(path, body())
    if (answer) return answer
    await pause(200)
  }
}

async function perform({ id, lease: fence, attempt, payload }) {
  const over = new AbortController()
  running.set(id, { lease: fence, over })
  const result = await run(payload, { job: { id, attempt }, fence: BigInt(fence), signal: over.signal }).then(
    () => ({ result: 'complete' }),
    (error) => ({ result: 'fail', error: { message: error.message }, ...(error instanceof FatalError ? { fatal: true } : {}) }),
  )
  await untilAnswered('settle', () => ({ worker, results: [{ job: id, lease: fence, ...result }] }))
  running.delete(id)
}

async function heartbeat() {
  for (;;) {
    await pause(500)
    const leases = [...new Set([...running.values()].map((job) => job.lease))]
    const answer = leases.length > 0 ? await ask('heartbeat', { worker, leases, lease }) : undefined
    for (const { lease: held, over } of running.values()) if (answer?.lost.includes(held)) over.abort()
  }
}

const definition = { type: 'afar', max_attempts: 20, backoff: backoffFor(backoffMs) }
worker = (await untilAnswered('register', () => ({ name: `afar-${process.pid}`, types: [definition] }))).worker
heartbeat()
process.send({ question: 'ready' })
while (!stopping) {
  // What it was given by a claim that was not answered, it gives back by saying what it has.
  const holding = [...new Set([...running.values()].map((job) => job.lease))]
  const limit = mostAtOnce - running.size
  const answer = limit > 0 ? await ask('claim', { worker, limit, lease, wait: '1s', holding }) : undefined
  for (const job of answer?.jobs ?? []) perform(job)
  if (!answer) await pause(200)
}
while (running.size > 0) await pause(50)
await ask('sign-off', { worker })
process.exit(0)
