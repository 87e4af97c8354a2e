import { randomBytes } from 'node:crypto'
import { Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { migrationScript } from '../../src/store/migrate.js'
import { schemaFiles } from '../../src/store/schema-files.js'
import { type AnotherVersion, makeVersion, type Release } from '../support/another-version.js'
import { describeSchema } from '../support/describe-schema.js'
import { asAdmin, type EmptyDatabase, makeEmptyDatabase, onDatabase } from '../support/empty-database.js'

// Most of them load other versions, one after the other.
vi.setConfig({ testTimeout: 120_000 })

let database: EmptyDatabase | ScratchDatabase

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

/** The same database as one that was migrated at some time before. From a template, which takes a fiftieth of the time. */
async function haveMigrated(): Promise<void> {
  await database.drop()
  database = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
}

async function withVersion<Result>(
  change: (release: Release) => unknown,
  work: (version: AnotherVersion) => Promise<Result>,
): Promise<Result> {
  const version = await makeVersion(change)
  try {
    return await work(version)
  } finally {
    await version.remove()
  }
}

const all = schemaFiles().map(({ number, name }) => ({ number, name }))
const everything = { files: all, functions: true }
const nothing = { files: [], functions: false }

test('the numbers of the schema files follow one another without a gap', () => {
  expect(all.map(({ number }) => number)).toEqual(all.map((_, i) => i + 1))
})

test('every schema file begins by saying why, which lock, what it costs, what old workers see and how to go back', () => {
  for (const { name, sql } of schemaFiles()) {
    const head = /^(?:--.*\n)+/.exec(sql)?.[0] ?? ''
    for (const word of ['Why:', 'Lock:', 'Cost:', 'Old workers:', 'Back:']) expect(head, `${name} says ${word}`).toContain(word)
    expect(head).toMatch(/^-- Why: \S/)
  }
})

test('migrating a second time does nothing: it needs no lock and not even the right to write', async () => {
  expect(await migrate()).toEqual(everything)
  const readOnly = new URL(database.connectionString)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
  await onDatabase(database.connectionString, async (client) => {
    const { rows: before } = await client.query('select * from holdfast.migrations order by number')
    // Somebody else who migrates at length must not hold up those who have nothing to do.
    await client.query('begin')
    await client.query('lock table holdfast.migrations in exclusive mode')
    expect(await migrate(readOnly.href)).toEqual(nothing)
    await client.query('rollback')
    expect((await client.query('select * from holdfast.migrations order by number')).rows).toEqual(before)
  })
})

test('a schema file that was changed after it ran is refused by name', async () => {
  await haveMigrated()
  const [first] = schemaFiles()
  const file = `0001_${first?.name}.sql`
  const answer = await withVersion(
    ({ schema }) => Object.assign(schema, { [file]: `${schema[file]}\n-- one more line` }),
    (version) => version.migrate(database.connectionString),
  )
  expect(answer).toMatchObject({ code: 'migration_changed', message: expect.stringContaining(`1 (${first?.name})`) })
})

test('line endings of another system are no change', async () => {
  await haveMigrated()
  const answer = await withVersion(
    ({ schema, functions }) => {
      for (const folder of [schema, functions])
        for (const file in folder) folder[file] = folder[file]?.replaceAll('\n', '\r\n') ?? ''
    },
    (version) => version.migrate(database.connectionString),
  )
  expect(answer).toEqual(nothing)
})

test('an older version starts on a schema that a newer one has migrated', async () => {
  const newer = await withVersion(
    ({ schema }) => Object.assign(schema, { '0999_future.sql': 'create table holdfast.future ();' }),
    (version) => version.migrate(database.connectionString),
  )
  expect(newer).toEqual({ files: [...all, { number: 999, name: 'future' }], functions: true })
  expect(await migrate()).toEqual(nothing)
})

test('a newer version runs only what is new', async () => {
  await haveMigrated()
  const answer = await withVersion(
    ({ schema }) => Object.assign(schema, { '0999_future.sql': 'create table holdfast.future ();' }),
    (version) => version.migrate(database.connectionString),
  )
  expect(answer).toEqual({ files: [{ number: 999, name: 'future' }], functions: false })
})

describe('functions', () => {
  const mark = (body: string) => ({
    'mark.sql': `create or replace function holdfast.mark() returns text language sql as $$ select '${body}' $$;`,
  })
  const marked = () =>
    onDatabase(database.connectionString, async (client) => (await client.query('select holdfast.mark() as mark')).rows[0].mark)
  const release = (version: string, functions: Record<string, string>) =>
    withVersion(
      (it) => Object.assign(it, { version }) && Object.assign(it.functions, functions),
      (it) => it.migrate(database.connectionString),
    )

  test('are written where they differ, and not again', async () => {
    expect(await release('1.0.0', mark('one'))).toEqual(everything)
    expect(await release('1.0.0', mark('one'))).toEqual(nothing)
    expect(await release('1.1.0', mark('two'))).toEqual({ files: [], functions: true })
    expect(await marked()).toBe('two')
  })

  test('of a newer release stay when an older process starts beside it', async () => {
    await haveMigrated()
    await release('2.0.0', mark('newer'))
    expect(await release('2.0.0-rc.1', mark('older'))).toEqual(nothing)
    expect(await release('1.9.9', mark('older'))).toEqual(nothing)
    expect(await migrate()).toEqual(nothing)
    expect(await marked()).toBe('newer')
  })

  test('and views that no release serves any more are dropped by the next one', async () => {
    const views = `create or replace view holdfast.marks as select holdfast.mark() as mark;
      create or replace view holdfast.marked as select mark from holdfast.marks;`
    const left = () =>
      onDatabase(database.connectionString, async (client) => {
        const { rows } = await client.query<{ name: string }>(`
          select relname as name from pg_class where relnamespace = 'holdfast'::regnamespace and relname ~ '^mark(s|ed)?$'
          union all select proname from pg_proc where pronamespace = 'holdfast'::regnamespace and proname ~ '^mark(s|ed)?$' order by name`)
        return rows.map(({ name }) => name)
      })
    await haveMigrated()
    const before = await describeSchema(database.connectionString)
    await release('1.0.0', { ...mark('one'), 'views_of_marks.sql': views })
    await release('1.1.0', { ...mark('two'), 'views_of_marks.sql': views })
    expect(await left()).toEqual(['mark', 'marked', 'marks'])
    await release('1.2.0', {})
    expect(await left()).toEqual([])
    expect(await describeSchema(database.connectionString)).toBe(before)
  })

  test('that do not fit are named, and nothing is changed', async () => {
    await haveMigrated()
    await release('1.0.0', mark('one'))
    const wrong = { 'mark.sql': 'create or replace function holdfast.mark() returns integer language sql as $$ select 1 $$;' }
    expect(await release('1.1.0', wrong)).toMatchObject({
      message: expect.stringContaining('writing the functions of 1.1.0 failed'),
    })
    expect(await marked()).toBe('one')
  })
})

describe('a schema file that fails', () => {
  const broken = 'create table holdfast.half_done (); select no_such_function();'

  test('is named, and on an empty database leaves nothing at all', async () => {
    const answer = await withVersion(
      ({ schema }) => Object.assign(schema, { '0999_broken.sql': broken }),
      (version) => version.migrate(database.connectionString),
    )
    expect(answer).toMatchObject({ message: expect.stringContaining('schema file 999 (broken) failed') })
    await onDatabase(database.connectionString, async (client) => {
      expect((await client.query(`select from pg_namespace where nspname = 'holdfast'`)).rowCount).toBe(0)
    })
    // And the next start, with a version that is whole, is none the worse for it.
    expect(await migrate()).toEqual(everything)
  })

  test('leaves a schema that was there as it was', async () => {
    await haveMigrated()
    const before = await describeSchema(database.connectionString)
    await withVersion(
      ({ schema }) => Object.assign(schema, { '0999_broken.sql': broken }),
      (version) => version.migrate(database.connectionString),
    )
    expect(await describeSchema(database.connectionString)).toBe(before)
  })
})

describe('the script for those who run SQL themselves', () => {
  test('makes the identical schema, after which migrating does nothing', async () => {
    await onDatabase(database.connectionString, (client) => client.query(migrationScript('holdfast')))
    const byHand = await describeSchema(database.connectionString)
    expect(await migrate()).toEqual(nothing)
    const other = await makeEmptyDatabase()
    try {
      await migrate(other.connectionString)
      expect(byHand).toBe(await describeSchema(other.connectionString))
    } finally {
      await other.drop()
    }
  })

  test('on a schema that exists fails as a whole', async () => {
    await haveMigrated()
    const before = await describeSchema(database.connectionString)
    await onDatabase(database.connectionString, async (client) => {
      await expect(client.query(migrationScript('holdfast'))).rejects.toThrow('already exists')
    })
    expect(await describeSchema(database.connectionString)).toBe(before)
  })
})

describe('a database user without the right to create', () => {
  const user = `holdfast_may_not_create_${randomBytes(4).toString('hex')}`
  const url = () => Object.assign(new URL(database.connectionString), { username: user, password: 'secret' }).href

  beforeEach(() => asAdmin((client) => client.query(`create role ${user} login password 'secret'`)))

  afterEach(() => onDatabase(database.connectionString, (client) => client.query(`drop owned by ${user}; drop role ${user}`)))

  test('is told what is missing', async () => {
    await expect(migrate(url())).rejects.toMatchObject({
      name: 'HoldfastError',
      code: 'permission_denied',
      message: expect.stringMatching(/permission denied for database .* right to create/),
    })
  })

  test('can start on a schema that somebody else keeps up to date', async () => {
    await haveMigrated()
    await onDatabase(database.connectionString, async (client) => {
      await client.query(`grant usage on schema holdfast to ${user}`)
      await client.query(`grant select, insert, update, delete on all tables in schema holdfast to ${user}`)
      await client.query(`grant usage on all sequences in schema holdfast to ${user}`)
    })
    expect(await migrate(url())).toEqual(nothing)
  })
})
