import { randomBytes } from 'node:crypto'
import { Holdfast } from 'holdfast'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrationScript, readMigrations } from '../../src/store/migrate.js'
import { type AnotherVersion, makeVersion } from '../support/another-version.js'
import { describeSchema } from '../support/describe-schema.js'
import { asAdmin, type EmptyDatabase, makeEmptyDatabase, onDatabase } from '../support/empty-database.js'

let database: EmptyDatabase

beforeEach(async () => {
  database = await makeEmptyDatabase()
})

afterEach(() => database.drop())

async function migrate(url = database.connectionString) {
  const holdfast = new Holdfast({ connectionString: url })
  try {
    return await holdfast.migrate()
  } finally {
    await holdfast.close()
  }
}

async function withVersion<Result>(
  change: (migrations: Map<string, string>) => void,
  work: (version: AnotherVersion) => Promise<Result>,
): Promise<Result> {
  const version = await makeVersion(change)
  try {
    return await work(version)
  } finally {
    await version.remove()
  }
}

const all = readMigrations().map(({ number, name }) => ({ number, name }))

test('the numbers of the migrations follow one another without a gap', () => {
  expect(all.map(({ number }) => number)).toEqual(all.map((_, i) => i + 1))
})

test('every migration begins by saying why, which lock, what it costs, what old workers see and how to go back', () => {
  for (const { name, sql } of readMigrations()) {
    const head = /^(?:--.*\n)+/.exec(sql)?.[0] ?? ''
    for (const word of ['Why:', 'Lock:', 'Cost:', 'Old workers:', 'Back:']) expect(head, `${name} says ${word}`).toContain(word)
    expect(head).toMatch(/^-- Why: \S/)
  }
})

test('migrating a second time does nothing: it needs no lock and not even the right to write', async () => {
  expect(await migrate()).toEqual(all)
  const readOnly = new URL(database.connectionString)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
  await onDatabase(database.connectionString, async (client) => {
    const { rows: before } = await client.query('select * from holdfast.migrations order by number')
    // Somebody else who migrates at length must not hold up those who have nothing to do.
    await client.query('begin')
    await client.query('lock table holdfast.migrations in exclusive mode')
    expect(await migrate(readOnly.href)).toEqual([])
    await client.query('rollback')
    expect((await client.query('select * from holdfast.migrations order by number')).rows).toEqual(before)
  })
})

test('a migration that was changed after it ran is refused by name', async () => {
  await migrate()
  const first = readMigrations()[0]
  const file = `0001_${first?.name}.sql`
  const answer = await withVersion(
    (migrations) => migrations.set(file, `${migrations.get(file)}\n-- one more line`),
    (version) => version.migrate(database.connectionString),
  )
  expect(answer).toMatchObject({ code: 'migration_changed', message: expect.stringContaining(`1 (${first?.name})`) })
})

test('line endings of another system are no change', async () => {
  await migrate()
  const answer = await withVersion(
    (migrations) => {
      for (const [file, sql] of migrations) migrations.set(file, sql.replaceAll('\n', '\r\n'))
    },
    (version) => version.migrate(database.connectionString),
  )
  expect(answer).toEqual({ applied: [] })
})

test('an older version starts on a schema that a newer one has migrated', async () => {
  const newer = await withVersion(
    (migrations) => migrations.set('0999_future.sql', 'create table holdfast.future ();'),
    (version) => version.migrate(database.connectionString),
  )
  expect(newer).toEqual({ applied: [...all, { number: 999, name: 'future' }] })
  expect(await migrate()).toEqual([])
})

test('a newer version runs only what is new', async () => {
  await migrate()
  const answer = await withVersion(
    (migrations) => migrations.set('0999_future.sql', 'create table holdfast.future ();'),
    (version) => version.migrate(database.connectionString),
  )
  expect(answer).toEqual({ applied: [{ number: 999, name: 'future' }] })
})

describe('a migration that fails', () => {
  const broken = 'create table holdfast.half_done (); select no_such_function();'

  test('is named, and on an empty database leaves nothing at all', async () => {
    const answer = await withVersion(
      (migrations) => migrations.set('0999_broken.sql', broken),
      (version) => version.migrate(database.connectionString),
    )
    expect(answer).toMatchObject({ message: expect.stringContaining('migration 999 (broken) failed') })
    await onDatabase(database.connectionString, async (client) => {
      expect((await client.query(`select from pg_namespace where nspname = 'holdfast'`)).rowCount).toBe(0)
    })
    // And the next start, with a version that is whole, is none the worse for it.
    expect(await migrate()).toEqual(all)
  })

  test('leaves a schema that was there as it was', async () => {
    await migrate()
    const before = await describeSchema(database.connectionString)
    await withVersion(
      (migrations) => migrations.set('0999_broken.sql', broken),
      (version) => version.migrate(database.connectionString),
    )
    expect(await describeSchema(database.connectionString)).toBe(before)
  })
})

describe('the script for those who run SQL themselves', () => {
  test('makes the identical schema, after which migrating does nothing', async () => {
    await onDatabase(database.connectionString, (client) => client.query(migrationScript()))
    const byHand = await describeSchema(database.connectionString)
    expect(await migrate()).toEqual([])
    const other = await makeEmptyDatabase()
    try {
      await migrate(other.connectionString)
      expect(byHand).toBe(await describeSchema(other.connectionString))
    } finally {
      await other.drop()
    }
  })

  test('on a schema that exists fails as a whole', async () => {
    await migrate()
    const before = await describeSchema(database.connectionString)
    await onDatabase(database.connectionString, async (client) => {
      await expect(client.query(migrationScript())).rejects.toThrow('already exists')
    })
    expect(await describeSchema(database.connectionString)).toBe(before)
  })
})

describe('a database user without the right to create', () => {
  const user = `holdfast_may_not_create_${randomBytes(4).toString('hex')}`
  let url: string

  beforeEach(async () => {
    await asAdmin((client) => client.query(`create role ${user} login password 'secret'`))
    const asUser = new URL(database.connectionString)
    asUser.username = user
    asUser.password = 'secret'
    url = asUser.href
  })

  afterEach(() => onDatabase(database.connectionString, (client) => client.query(`drop owned by ${user}; drop role ${user}`)))

  test('is told what is missing', async () => {
    await expect(migrate(url)).rejects.toMatchObject({
      name: 'HoldfastError',
      code: 'permission_denied',
      message: expect.stringMatching(/permission denied for database .* right to create/),
    })
  })

  test('can start on a schema that somebody else keeps up to date', async () => {
    await migrate()
    await onDatabase(database.connectionString, async (client) => {
      await client.query(`grant usage on schema holdfast to ${user}`)
      await client.query(`grant select, insert, update, delete on all tables in schema holdfast to ${user}`)
      await client.query(`grant usage on all sequences in schema holdfast to ${user}`)
    })
    expect(await migrate(url)).toEqual([])
  })
})
