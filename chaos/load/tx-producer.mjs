// A producer that only enqueues inside its own transactions, as fast as it can, every other one rolled back, in a process of its
// own. Its one argument is JSON: { url, transactions }. It tells its parent how far it is, what it holds, and who refused it.
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import pg from 'pg'

const { url, transactions } = JSON.parse(process.argv[2])
const atOnce = 4
const type = defineType({ type: 'steady' })
const holdfast = new Holdfast({ connectionString: url })
const pool = new pg.Pool({ connectionString: url, max: atOnce })
const count = { begun: 0, ended: 0, committed: 0, refused: 0 }
process.on('disconnect', () => process.exit(1))
process.on('SIGTERM', () => process.exit(0))
process.on('message', () => {
  globalThis.gc?.()
  process.send({ ...count, heap: process.memoryUsage().heapUsed })
})

/** False: it was refused, and is to be tried again. */
async function one(end) {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    await holdfast.enqueue(type, null, { tx })
    await tx.query(end)
    if (end === 'commit') count.committed += 1
    return true
  } catch (error) {
    await tx.query('rollback')
    if (error.code !== 'too_much_waiting') throw error
    count.refused += 1
    await pause(50)
    return false
  } finally {
    tx.release()
  }
}

async function line() {
  while (count.begun < transactions) {
    const end = count.begun++ % 2 === 0 ? 'commit' : 'rollback'
    while (!(await one(end)));
    count.ended += 1
  }
}

process.send({ question: 'ready' })
await Promise.all(Array.from({ length: atOnce }, line))
