// How many tasks a second one worker runs that takes so many at once: prints that, and with how many claims it took them.
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'

const size = Number(process.env.BATCH_SIZE)
const tasks = Number(process.env.TASKS)

/** A connection that counts the claims that go over it. */
let claims = 0
class Counting extends pg.Client {
  query(asked, ...rest) {
    if (/claim_jobs\(/.test(asked.text ?? asked)) claims += 1
    return super.query(asked, ...rest)
  }
}
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, Client: Counting })
const holdfast = new Holdfast({ pool })
let ran = 0
let done
const allRan = new Promise((resolve) => (done = resolve))
const task = defineType({
  type: `task_of_${size}`,
  async run() {
    await new Promise((over) => setTimeout(over, 5))
    ran += 1
    if (ran === tasks) done()
  },
})
await holdfast.registerTypes([task])
await holdfast.enqueueMany(Array.from({ length: tasks }, () => ({ type: task, payload: {} })))
const began = performance.now()
const worker = await startWorker(holdfast, [task], { concurrency: size })
await allRan
console.log(JSON.stringify({ size, perSecond: Math.round((tasks / (performance.now() - began)) * 1_000), claims }))
await worker.stop()
await holdfast.close()
await pool.end()
