// How fast jobs are stored: a thousand in a call, and one at a time beside the least that any durable write costs.
import pg from 'pg'
import { Holdfast } from '../dist/index.js'
import { percentile } from './figures.mjs'
import { withDatabase } from './server.mjs'

const payload = { text: 'x'.repeat(189) }
const requests = (count) => Array.from({ length: count }, () => ({ type: 'bench', payload }))

export const registerBench = async (client) => {
  await client.query(`insert into holdfast.types (name, lane_id) select 'bench', id from holdfast.lanes where name = 'default'`)
}

export async function enqueueMany(holdfast, count) {
  for (let left = count; left > 0; left -= 1000) await holdfast.enqueueMany(requests(Math.min(1000, left)))
}

export const bulk = {
  figures: { bulkPerSecond: 'enqueue, 1,000 a call, one caller: jobs/s' },
  measure: (server, { jobs }) =>
    withDatabase(server, async (url, client) => {
      await registerBench(client)
      const holdfast = new Holdfast({ connectionString: url })
      await enqueueMany(holdfast, 2000)
      const begun = performance.now()
      await enqueueMany(holdfast, jobs)
      const ms = performance.now() - begun
      await holdfast.close()
      return { bulkPerSecond: (jobs / ms) * 1000 }
    }),
}

export const single = {
  figures: {
    insertP50: 'bare one-row insert, one after the other: p50 ms',
    insertP99: 'bare one-row insert, one after the other: p99 ms',
    enqueueP50: 'enqueue one, one after the other: p50 ms',
    enqueueP99: 'enqueue one, one after the other: p99 ms',
    insert32P50: 'bare one-row insert, 32 at once: p50 ms',
    insert32P99: 'bare one-row insert, 32 at once: p99 ms',
    enqueue32P50: 'enqueue one, 32 at once: p50 ms',
    enqueue32P99: 'enqueue one, 32 at once: p99 ms',
    enqueue32PerSecond: 'enqueue one, 32 at once: jobs/s',
  },
  measure: (server, { singles }) =>
    withDatabase(server, async (url, client) => {
      await registerBench(client)
      await client.query('create table bare (id bigint generated always as identity primary key, payload json not null)')
      const text = JSON.stringify(payload)
      const pool = new pg.Pool({ connectionString: url, max: 32 })
      const holdfast = new Holdfast({ connectionString: url, connections: 32 })
      const insert = () => pool.query({ name: 'bare', text: 'insert into bare (payload) values ($1)', values: [text] })
      const enqueue = () => holdfast.enqueue('bench', payload)
      for (const warm of [insert, enqueue]) await timed(warm, 200, 32)
      // One kind after the other in small turns, so that whatever else the machine does hits both alike.
      const alone = await inTurns([insert, enqueue], singles, 1)
      const together = await inTurns([insert, enqueue], singles * 4, 32)
      await pool.end()
      await holdfast.close()
      return {
        insertP50: percentile(alone[0].times, 0.5),
        insertP99: percentile(alone[0].times, 0.99),
        enqueueP50: percentile(alone[1].times, 0.5),
        enqueueP99: percentile(alone[1].times, 0.99),
        insert32P50: percentile(together[0].times, 0.5),
        insert32P99: percentile(together[0].times, 0.99),
        enqueue32P50: percentile(together[1].times, 0.5),
        enqueue32P99: percentile(together[1].times, 0.99),
        enqueue32PerSecond: (together[1].times.length / together[1].ms) * 1000,
      }
    }),
}

async function inTurns(kinds, count, atOnce) {
  const turns = 5
  const results = kinds.map(() => ({ times: [], ms: 0 }))
  for (let turn = 0; turn < turns; turn++) {
    for (const [i, kind] of kinds.entries()) {
      const { times, ms } = await timed(kind, Math.ceil(count / turns), atOnce)
      results[i].times.push(...times)
      results[i].ms += ms
    }
  }
  return results
}

async function timed(work, count, atOnce) {
  const times = []
  let left = count
  const begun = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) {
        const start = performance.now()
        await work()
        times.push(performance.now() - start)
      }
    }),
  )
  return { times, ms: performance.now() - begun }
}
