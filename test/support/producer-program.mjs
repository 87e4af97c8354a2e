/**
 * A producer process for tests. Its one argument is JSON: { database, ledger, until, pauseMs }. It enqueues jobs of type `work`
 * until that file exists, some alone, some together, some in a transaction of its own, and notes each one in the ledger once
 * it has been acknowledged. Every tenth call is rolled back; its jobs are noted as such, and must never run.
 */
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import pg from 'pg'
import { openLedgerFile } from './ledger-writer.mjs'

const { database, ledger, until, pauseMs } = JSON.parse(process.argv[2])
const note = openLedgerFile(ledger)
const work = defineType({ type: 'work' })
const holdfast = new Holdfast({ connectionString: database })
const pool = new pg.Pool({ connectionString: database, max: 1 })

/** A mix: most work a little, some fail once, some fail for good. */
function request(n) {
  const payload = { n, ms: (n * 37) % 400 }
  if (n % 50 === 7) return work.job({ ...payload, failUntil: 1 })
  if (n % 50 === 13) return work.job({ ...payload, fatal: 'no retry can help' })
  return work.job(payload, { maxAttempts: 20, priority: n % 10 })
}

async function inTransaction(requests, end) {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    const answers = await holdfast.enqueueMany(requests, { tx })
    await tx.query(end)
    return answers
  } finally {
    tx.release()
  }
}

for (let n = 0, round = 0; !existsSync(until); round++) {
  const requests = Array.from({ length: 1 + (round % 20) }, (_, at) => request(n + at))
  const way = round % 10
  const answers =
    way < 5 ? await holdfast.enqueueMany(requests) : await inTransaction(requests, way === 9 ? 'rollback' : 'commit')
  for (const { id } of answers) note({ kind: way === 9 ? 'rolled_back' : 'acknowledged', job: id })
  n += requests.length
  await pause(pauseMs)
}
process.stdout.write(`${JSON.stringify({ event: 'done' })}\n`)
await Promise.all([holdfast.close(), pool.end()])
