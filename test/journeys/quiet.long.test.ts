import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { startFleet } from '../support/fleet.js'
import { makeObservedDatabase } from '../support/observed-database.js'
import { useOwnPostgres } from '../support/own-postgres.js'

// A server of its own, because transaction ids are counted for the whole server.
const postgres = useOwnPostgres({ autovacuum: 'off' })

test('ten idle workers use less than one transaction id a second, few statements and little of a processor', async () => {
  const database = await makeObservedDatabase(postgres.url)
  const fleet = await startFleet({ holdfast: { connectionString: database.url }, workers: 10 })
  await eventually(async () => (await database.sql('select from holdfast.idle_workers')).length === 10)
  const look = async () => {
    const [row] = await database.sql(`
      select pg_snapshot_xmax(pg_current_snapshot())::text::bigint::float as ids, xact_commit::float as statements
      from pg_stat_database where datname = current_database()`)
    return { ids: row?.ids as number, statements: row?.statements as number, cpuMs: await fleet.cpuMs(), at: performance.now() }
  }
  // They look again a few times after they became idle.
  await pause(3_000)
  const before = await look()
  // Long enough to hold two heartbeats of each worker, and never three.
  await pause(22_000)
  const after = await look()
  const seconds = (after.at - before.at) / 1000
  expect((after.ids - before.ids) / seconds).toBeLessThan(1)
  expect((after.statements - before.statements) / seconds).toBeLessThan(16)
  expect((after.cpuMs - before.cpuMs) / (seconds * 1000)).toBeLessThan(0.3)
  expect(await fleet.stop()).toBe(0)
}, 90_000)
