// A producer in a process of its own. Its one argument is JSON: { url, ledger, seed, pauseMs, only, holdfast }. It
// enqueues jobs of every kind, in every way there is, and notes what it asked for and what it was told. With `only: 'tx'` it enqueues
// inside its own transactions and in no other way.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast, HoldfastError } from 'holdfast'
import pg from 'pg'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { now, openLedger } from '../evidence/ledger.mjs'
import { pick, seeded } from '../seeded.mjs'
import { backoffMs } from './handler.mjs'
import { keys, types } from './types.mjs'

const { url, ledger, seed, pauseMs, only, holdfast: options = {} } = JSON.parse(process.argv[2])
const { note } = openLedger(ledger)
const random = seeded(seed)
const holdfast = new Holdfast({ connectionString: url, ...options })
const pool = new pg.Pool({ connectionString: url, max: 1, query_timeout: 3_000, connectionTimeoutMillis: 3_000 })
pool.on('error', () => {})
let stopping = false
process.on('SIGTERM', () => {
  stopping = true
})
process.on('disconnect', () => process.exit(1))

const shortly = () => Math.floor(random() * 60)
/** Most work a little; some fail, some are put off, some never succeed; some fall under a limit, some kill their process. */
const kinds = [
  ...Array(20).fill(() => ({ ms: Math.floor(random() * 150) })),
  () => ({ type: 'two_at_once', ms: shortly(), limits: ['type two_at_once'] }),
  () => inKey(pick(keys, random)),
  () => inKey(pick(keys, random)),
  () => ({ type: 'paced', limits: ['rate paced'] }),
  () => ({ type: 'narrow', ms: shortly(), limits: ['lane narrow'] }),
  () => ({ type: 'apart', ms: 10, ...(random() < 0.15 ? { killUntil: 1 } : {}) }),
  () => ({ failUntil: 1 }),
  () => ({ failUntil: 20, ends: 'dead', options: { maxAttempts: 2 } }),
  () => ({ fatal: 'no retry can help', ends: 'dead' }),
  () => ({ options: { delay: 500, maxAttempts: 20 } }),
  () => ({ snoozeMs: 200 }),
  () => ({ ms: 1_500 }),
]

function inKey(concurrencyKey) {
  return { type: 'one_of_a_key', ms: shortly(), limits: [`key ${concurrencyKey}`], options: { concurrencyKey, maxAttempts: 20 } }
}

/** One of a few keys of this process; another key for each policy, since they do not mean the same by it. */
function uniqueSpec(n) {
  const onConflict = pick(['reject', 'existing', 'one_more', 'replace'], random)
  const key = `${process.pid} ${onConflict} ${n % 2}`
  // Of a job that can be replaced, the next one may run beside it.
  const named = onConflict === 'replace' ? {} : { unique: key }
  return { ms: Math.floor(random() * 200), ...named, options: { unique: { key, onConflict }, maxAttempts: 20 } }
}

async function inTransaction(requests, end) {
  const tx = await pool.connect()
  tx.on('error', () => {})
  let spoiled = true
  try {
    await tx.query('begin')
    const answers = await holdfast.enqueueMany(requests, { tx })
    await tx.query(end)
    spoiled = false
    return end === 'commit' ? answers : []
  } finally {
    tx.release(spoiled)
  }
}

const ways = only === 'tx' ? ['commit', 'commit', 'rollback'] : ['plain', 'plain', 'plain', 'commit', 'rollback', 'key', 'unique']

async function enqueue(n) {
  const call = `${process.pid}-${n}`
  const specs = Array.from({ length: 1 + Math.floor(random() * 8) }, () => pick(kinds, random)())
  const way = pick(ways, random)
  if (way === 'key') specs.splice(1)
  if (way === 'unique') specs.splice(0, specs.length, uniqueSpec(n))
  // A key is of its type.
  const key = `${process.pid}-${n - (n % 5)}-${specs[0].type ?? 'work'}`
  const requests = specs.map(({ type = 'work', options: given = { maxAttempts: 20 }, ends, ...payload }) =>
    types[type].job(
      { call, ...payload },
      { ...given, priority: Math.floor(random() * 10), ...(way === 'key' ? { idempotencyKey: key } : {}) },
    ),
  )
  const asked = now()
  const unique = specs[0].unique ? { unique: specs[0].unique } : {}
  note({ kind: 'asked', call, count: requests.length, ...unique })
  // Noted before, because it is decided: whatever happens now, these jobs must never exist.
  if (way === 'rollback') note({ kind: 'rolled_back', call, jobs: [] })
  try {
    const answers = ['commit', 'rollback'].includes(way)
      ? await inTransaction(requests, way)
      : await holdfast.enqueueMany(requests)
    for (const [at, { id: job, status }] of answers.entries()) acknowledge(call, asked, requests[at], specs[at], { job, status })
  } catch (error) {
    const certain = error instanceof HoldfastError && error.code !== 'database_unavailable'
    note({ kind: certain ? 'refused' : 'in_doubt', call, ...unique, error: String(error.message) })
  }
}

function acknowledge(call, asked, { payload, delay, idempotencyKey: key, unique: rule }, { ends, unique }, answer) {
  // A job that can be given another payload may have been, by a call that was told nothing.
  const mayChange = rule && !['reject', 'existing'].includes(rule.onConflict)
  // What an existing job does was decided by the call that made it.
  const about = {
    ...(mayChange ? {} : { payload: fingerprint(payload) }),
    backoffMs,
    ...(ends ? { ends } : {}),
    ...(delay ? { notBefore: asked + delay } : {}),
  }
  note({
    kind: 'acknowledged',
    call,
    ...answer,
    ...(key ? { key } : {}),
    ...(unique ? { unique, policy: rule.onConflict } : {}),
    ...(answer.status === 'existing' ? {} : about),
  })
}

process.send({ question: 'ready' })
for (let n = 0; !stopping; n++) {
  await enqueue(n)
  await pause(pauseMs * 2 * random())
}
await Promise.all([holdfast.close(), pool.end()])
process.exit(0)
