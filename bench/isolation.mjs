// What isolation costs and what it gives: no-op jobs per second inline, in threads and in processes, and how long an
// inline no-op takes while two threads burn CPU. Needs a build; uses DATABASE_URL or starts a Postgres of its own.
// node bench/isolation.mjs
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../dist/dev/index.js'
import { Holdfast } from '../dist/index.js'
import { makeScratchDatabase } from '../dist/testing/index.js'
import { startWorker } from '../dist/worker/index.js'

const quiet = { info() {}, warn() {}, error() {} }
const count = Number(process.env.JOBS ?? 5_000)

async function main(connectionString) {
  const holdfast = new Holdfast({ connectionString })
  const worker = await startWorker(holdfast, new URL('./isolation-handlers.mjs', import.meta.url), {
    logger: quiet,
    concurrency: 20,
  })
  try {
    console.log(`${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores, Node ${process.versions.node}\n`)
    console.log('| no-op jobs | jobs/s | first job, ms |\n|---|---|---|')
    for (const kind of ['inline', 'thread', 'process']) {
      const firstMs = await took(holdfast, worker, `noop_${kind}`, 1)
      const ms = await took(holdfast, worker, `noop_${kind}`, count)
      console.log(`| ${kind} | ${Math.round((count / ms) * 1_000)} | ${Math.round(firstMs)} |`)
    }
    console.log('\n| an inline no-op | runs, p50 ms | runs, p99 ms | enqueue to end, p50 ms | p99 ms |\n|---|---|---|---|---|')
    row('nothing else runs', await inlineTimes(holdfast, worker))
    const until = Date.now() + 60_000
    await holdfast.enqueueMany([1, 2].map(() => ({ type: 'burn', payload: { until } })))
    await sleep(1_000)
    row('two threads burn CPU', await inlineTimes(holdfast, worker))
  } finally {
    await worker.stop()
    await holdfast.close()
  }
}

/** Milliseconds from the enqueue to the last of them done. */
async function took(holdfast, worker, type, jobs) {
  let left = jobs
  const done = new Promise((resolve) => {
    worker.events.on('job.completed', function hear(event) {
      if (event.type !== type || --left > 0) return
      worker.events.off('job.completed', hear)
      resolve()
    })
  })
  const begun = performance.now()
  await holdfast.enqueueMany(Array.from({ length: jobs }, () => ({ type, payload: 0 })))
  await done
  return performance.now() - begun
}

/** One at a time, so that what is measured is how soon the event loop comes round and not how long the line is. */
async function inlineTimes(holdfast, worker) {
  const runs = []
  const whole = []
  worker.events.on('job.completed', hear)
  for (let n = 0; n < 1_000; n++) whole.push(await took(holdfast, worker, 'noop_inline', 1))
  worker.events.off('job.completed', hear)
  return [runs, whole]
  function hear(event) {
    if (event.type === 'noop_inline') runs.push(event.ms)
  }
}

function row(name, times) {
  const figures = times.flatMap((some) => {
    const sorted = [...some].sort((a, b) => a - b)
    return [0.5, 0.99].map((share) => sorted[Math.floor(sorted.length * share)].toFixed(2))
  })
  console.log(`| ${name} | ${figures.join(' | ')} |`)
}

if (process.env.DATABASE_URL) {
  const scratch = await makeScratchDatabase(process.env.DATABASE_URL)
  await main(scratch.connectionString).finally(() => scratch.drop())
} else {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
  const postgres = await startPostgres({ dataDir })
  try {
    const scratch = await makeScratchDatabase(postgres.connectionString)
    await main(scratch.connectionString)
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}
