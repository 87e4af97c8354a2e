// Somebody who asks for long and composite work, in a process of its own: jobs with steps, sleeps and signals, executions of workflows, and
// batches. Its one argument is JSON: { url, ledger, seed, pauseMs, holdfast }. Whatever it begins it asks for until it is told, under an id of
// its own, so that nothing is begun twice and nothing is left half done.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast, HoldfastError } from 'holdfast'
import { newJobId } from '../../dist/job/id.js'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { openLedger } from '../evidence/ledger.mjs'
import { pick, seeded } from '../seeded.mjs'
import { types } from './types.mjs'
import { failing, jobsOf, shaped } from './workflows.mjs'

const { url, ledger, seed, pauseMs, holdfast: options = {} } = JSON.parse(process.argv[2])
const { note } = openLedger(ledger)
const random = seeded(seed)
const holdfast = new Holdfast({ connectionString: url, ...options })
let calls = 0
let stopping = false
process.on('SIGTERM', () => {
  stopping = true
})
process.on('disconnect', () => process.exit(1))

const upTo = (most) => Math.floor(random() * most)
const nextCall = (count) => {
  const call = `${process.pid}-${++calls}`
  note({ kind: 'asked', call, count })
  return call
}

/** Asks until there is an answer; a refusal is one, and its code is returned. */
async function insist(ask) {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (error instanceof HoldfastError && error.code !== 'database_unavailable') return { refused: error.code, error }
      await pause(200)
    }
  }
}

/** A refusal of what must be taken is a defect, and this process ends with it where everybody sees it. */
async function must(ask) {
  const answer = await insist(ask)
  if (answer?.refused) throw answer.error
  return answer
}

async function enqueue(payload) {
  const call = nextCall(1)
  const [id, whole] = [newJobId(), { call, ...payload }]
  await must(() => holdfast.enqueue(types.work, whole, { id, maxAttempts: 20 }))
  note({ kind: 'acknowledged', call, job: id, status: 'created', payload: fingerprint(whole) })
  return id
}

/** Sends until one is taken for each wait. An answer that was lost may stand for one that was stored, so each has another value. */
async function signal(job, times) {
  for (let sent = 0; sent < times; ) {
    const value = `${process.pid}-${++calls}`
    note({ kind: 'signalling', job, value })
    const answer = await holdfast.signal(job, 'go', value).then(
      () => 'sent',
      (error) => error.code ?? 'lost',
    )
    if (answer === 'sent') sent += 1
    // It has had enough of them and ended.
    else if (answer !== 'database_unavailable' && answer !== 'lost') return
    else await pause(200)
  }
}

/** Some fail for good, and some at the first try of each process: those complete when the batch is retried, sooner or later. */
const members = (call, count) =>
  Array.from({ length: count }, () => {
    const id = newJobId()
    const fails = [{ fatal: 'no retry can help' }, { failOnce: true }][upTo(10)]
    return fails
      ? types.work.job({ call, ...fails }, { id, maxAttempts: 1 })
      : types.work.job({ call, ms: upTo(40) }, { id, maxAttempts: 20 })
  })

/** The batches that nobody has retried yet, each with its members. */
const unretried = new Map()

const acts = [
  () => enqueue({ steps: 3, ms: upTo(60) }),
  () => enqueue({ steps: 4, failUntil: 1 + upTo(2) }),
  () => enqueue({ steps: 2, sleepMs: 200 + upTo(300), failUntil: upTo(2) }),
  async () => signal(await enqueue({ steps: 2, waits: 2, failUntil: upTo(2) }), 2),
  async function execution() {
    const workflow = pick([shaped, shaped, failing], random)
    const input = { ms: upTo(40), items: Array.from({ length: upTo(4) }, () => ({ ms: upTo(40) })) }
    const call = nextCall(jobsOf[workflow.name](input))
    input.call = call
    for (const item of input.items) item.call = call
    const id = newJobId()
    await must(() => holdfast.start(workflow, input, { id }))
    note({ kind: 'begun', execution: id, call })
  },
  async function batch() {
    const [first, added, open] = [1 + upTo(6), upTo(4), random() < 0.5]
    const [id, call] = [newJobId(), nextCall(first + added)]
    const callback = (kind) => {
      const of = nextCall(2)
      return types.work.job({ call: of, callback: kind, batch: id }, { maxAttempts: 20 })
    }
    const [jobs, more] = [members(call, first), members(call, added)]
    const request = { id, open, jobs, onSuccess: callback('success'), onFailure: callback('failure'), onComplete: callback('complete') } // biome-ignore format: one request
    await must(() => holdfast.batch(request))
    note({ kind: 'batched', batch: id, call })
    // One that is not open may have ended by now, and refuses.
    if (added > 0) await insist(() => holdfast.batches.add(id, more))
    if (open) await must(() => holdfast.batches.close(id))
    unretried.set(id, [...jobs, ...more])
  },
  async function retry() {
    const [id, jobs] = pick([...unretried], random) ?? []
    const { status } = (id && (await must(() => holdfast.batches.get(id)))) || {}
    if (status !== 'failed') return
    // Each once, and asked for once: the checker allows a job all its attempts a second time.
    unretried.delete(id)
    for (const { id: job } of jobs) note({ kind: 'reviving', job })
    const { done = 0 } = await holdfast.batches.retry(id, { by: 'composer' }).catch(() => ({}))
    if (done > 0) note({ kind: 'retried', batch: id })
  },
]

process.send({ question: 'ready' })
note({ kind: 'asked', call: 'a task that fails', count: 1_000_000 })
while (!stopping) {
  await pick(acts, random)()
  await pause(pauseMs * 2 * random())
}
await holdfast.close()
process.exit(0)
