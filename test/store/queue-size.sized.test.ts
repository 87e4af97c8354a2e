import { rm } from 'node:fs/promises'
import { type RunningPostgres, startPostgres } from 'holdfast/dev'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BareQueue, makeBareQueue } from '../support/bare-queue.js'
import { newDataDir } from '../support/prepared-cluster.js'
import { sized } from '../support/sized.js'

const rounds = sized({ sample: 9, whole: 40 })
const each = 5_000

/** A server of its own: a page can be used again when nobody on the whole server can look at it any more. */
let directory: string
let postgres: RunningPostgres
let queue: BareQueue

beforeAll(async () => {
  directory = await newDataDir()
  postgres = await startPostgres({ dataDir: directory, settings: { fsync: 'off' } })
  queue = await makeBareQueue(postgres.connectionString)
}, 120_000)

afterAll(async () => {
  await queue?.close()
  await postgres?.stop('immediate')
  await rm(directory, { recursive: true, force: true })
})

test(`${(rounds * each).toLocaleString('en')} jobs through a small queue leave its table and its indexes as large as the first 25,000 did`, async () => {
  const sizes: Record<string, number>[] = []
  for (let round = 0; round < rounds; round++) {
    await queue.fill(each)
    await queue.drain(each)
    await queue.client.query('vacuum holdfast.queue')
    await queue.client.query('vacuum holdfast.leases')
    const { rows } = await queue.client.query(`
      select relname, pg_relation_size(oid)::integer as size from pg_class
      where relname in ('queue', 'queue_claim', 'queue_by_job', 'leases', 'leases_pkey', 'leases_lost_first')`)
    sizes.push(Object.fromEntries(rows.map(({ relname, size }) => [relname, size])))
  }
  const early = sizes[4] as Record<string, number>
  const last = sizes.at(-1) as Record<string, number>
  expect(Object.keys(last)).toHaveLength(6)
  for (const [name, size] of Object.entries(last)) expect(size, name).toBeLessThanOrEqual((early[name] as number) * 1.25 + 65_536)
}, 240_000)
