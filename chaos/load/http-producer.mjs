// Somebody who enqueues over HTTP, in a process of its own. Its one argument is JSON: { address, adminKey, ledger, seed,
// pauseMs }. What was answered with 201 or 200 is acknowledged; what was not answered is asked again where it has a key.
import { setTimeout as pause } from 'node:timers/promises'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { openLedger } from '../evidence/ledger.mjs'
import { pick, seeded } from '../seeded.mjs'
import { backoffMs } from './handler.mjs'

const { address, adminKey, ledger, seed, pauseMs } = JSON.parse(process.argv[2])
const { note } = openLedger(ledger)
const random = seeded(seed)
const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
const patienceMs = 4_000
let stopping = false
process.on('SIGTERM', () => {
  stopping = true
})
process.on('disconnect', () => process.exit(1))

const kinds = [
  ...Array(6).fill(() => ({ payload: { ms: Math.floor(random() * 60) } })),
  () => ({ payload: { failUntil: 1 } }),
  () => ({ payload: { fatal: 'no retry can help' }, ends: 'dead' }),
]

/** Undefined: nobody knows. A refusal names a reason that excludes that the job exists. */
async function ask(body) {
  const signal = AbortSignal.timeout(patienceMs)
  const answer = await fetch(`${address}/jobs`, { method: 'POST', headers, body, signal }).catch(() => undefined)
  const told = await answer?.json().catch(() => undefined)
  if (told === undefined || told.code === 'database_unavailable' || answer.status >= 500) return undefined
  return answer.ok ? { job: told.id, status: told.status } : { refused: told.code }
}

async function enqueue(n) {
  const call = `http-${process.pid}-${n}`
  const { payload: given, ends } = pick(kinds, random)()
  const payload = { call, ...given }
  const key = random() < 0.5 ? call : undefined
  const body = JSON.stringify({ type: 'work', payload, max_attempts: 20, ...(key ? { idempotency_key: key } : {}) })
  note({ kind: 'asked', call, count: 1 })
  let told = await ask(body)
  for (let tries = 1; key && !told && tries < 20 && !stopping; tries++) {
    await pause(200)
    told = await ask(body)
  }
  if (!told) return note({ kind: 'in_doubt', call, error: 'no answer' })
  if (told.refused) return note({ kind: 'refused', call, error: told.refused })
  // Its own first try may have made the job that the second one met: then what exists is what was asked for.
  const about = { payload: fingerprint(payload), backoffMs, ...(ends ? { ends } : {}) }
  note({ kind: 'acknowledged', call, ...told, through: 'http', ...(key ? { key } : {}), ...about })
}

process.send({ question: 'ready' })
for (let n = 0; !stopping; n++) {
  await enqueue(n)
  await pause(pauseMs * 2 * random())
}
process.exit(0)
