import { expect, test } from 'vitest'
import { makeVersion } from '../support/another-version.js'
import { makeEmptyDatabase, onDatabase } from '../support/empty-database.js'
import { eventually } from '../support/facts.js'

const waitsForALock = `
  select l.pid from pg_locks as l join pg_database as d on d.oid = l.database
  where d.datname = current_database() and l.mode = 'AccessExclusiveLock' and not l.granted`

/** Locks the two tables in the order that is not a claim's. */
const migration = 'alter table holdfast.bodies add column one integer; alter table holdfast.queue add column two integer;'

test('a migration that meets work under way from the other side lets go and comes again, and nobody deadlocks', async () => {
  const database = await makeEmptyDatabase()
  const [present, next] = [
    await makeVersion(() => {}),
    await makeVersion(({ schema }) => void Object.assign(schema, { '9001_next.sql': migration })),
  ]
  try {
    await present.migrateInItsProcess(database.connectionString)
    await onDatabase(database.connectionString, async (worker) => {
      await worker.query('begin')
      await worker.query('lock table holdfast.queue in row exclusive mode')
      const migrating = next.migrateInItsProcess(database.connectionString)
      await onDatabase(database.connectionString, (looker) =>
        eventually(async () => (await looker.query(waitsForALock)).rows.length > 0, { every: 5 }),
      )
      // Each of the two now has what the other one wants.
      await worker.query('select from holdfast.bodies')
      await worker.query('commit')
      expect(await migrating).toEqual({ files: [{ number: 9001, name: 'next' }], functions: false })
    })
    await onDatabase(database.connectionString, async (looker) => {
      const { rows } = await looker.query('select deadlocks::int from pg_stat_database where datname = current_database()')
      expect(rows).toEqual([{ deadlocks: 0 }])
    })
  } finally {
    await Promise.all([present.remove(), next.remove()])
    await database.drop()
  }
}, 120_000)
