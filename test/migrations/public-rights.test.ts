import { Holdfast } from 'holdfast'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrationScript } from '../../src/store/migrate.js'
import { makeVersion } from '../support/another-version.js'
import { type EmptyDatabase, makeEmptyDatabase, onDatabase } from '../support/empty-database.js'

/** What everybody may do, as PostgreSQL itself says it: to functions, tables, views, sequences and the schema. */
const open = (schema = 'holdfast', definersAlone = false) =>
  onDatabase(database.connectionString, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select name from (
         select p.proname as name, coalesce(p.proacl, acldefault('f', p.proowner)) as acl
         from pg_proc as p where p.pronamespace = $1::regnamespace and (p.prosecdef or not $2)
         union all
         select c.relname, coalesce(c.relacl, acldefault('r', c.relowner))
         from pg_class as c where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
         union all
         select n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner)) from pg_namespace as n where n.oid = $1::regnamespace) as ours,
       lateral aclexplode(acl) as granted where granted.grantee = 0 order by name`,
      [`"${schema}"`, definersAlone],
    )
    return rows.map(({ name }) => name)
  })

/** The next release has two functions more: one with the rights of the owner, and one with those of whoever calls it. */
const next = `create or replace function holdfast.peek() returns bigint language sql security definer
set search_path = holdfast, pg_temp as 'select count(*) from holdfast.bodies';
create or replace function holdfast.plain() returns integer language sql as 'select 1';
`

let database: EmptyDatabase

beforeEach(async () => {
  database = await makeEmptyDatabase()
})
afterEach(() => database.drop())

async function withHoldfast(work: (holdfast: Holdfast) => Promise<unknown>, schema = 'holdfast'): Promise<void> {
  const holdfast = new Holdfast({ connectionString: database.connectionString, schema })
  await work(holdfast).finally(() => holdfast.close())
}

test('a first migration leaves nobody a function that runs with the rights of the owner', async () => {
  await withHoldfast((holdfast) => holdfast.migrate(), 'Jobs US-1')
  expect(await open('Jobs US-1', true)).toEqual([])
})

test('neither does the script for those who run SQL themselves', async () => {
  await onDatabase(database.connectionString, (client) => client.query(migrationScript('Jobs US-1')))
  expect(await open('Jobs US-1', true)).toEqual([])
})

test('after the roles are granted everybody may do nothing, and a later migration opens no function with the rights of the owner', async () => {
  await withHoldfast(async (holdfast) => {
    await holdfast.migrate()
    await holdfast.grantRoles()
  })
  expect(await open()).toEqual([])
  // What somebody opened on purpose is theirs.
  await onDatabase(database.connectionString, (client) =>
    client.query('grant execute on function holdfast.new_job_id, holdfast.type_of_job to public'),
  )
  const version = await makeVersion(
    (release) => Object.assign(release, { version: '99.0.0' }) && Object.assign(release.functions, { 'next.sql': next }),
  )
  try {
    expect(await version.migrate(database.connectionString)).toEqual({ files: [], functions: true })
  } finally {
    await version.remove()
  }
  expect(await open()).toEqual(['new_job_id', 'plain', 'type_of_job'])
  // A worker of a role calls what it called, and what that calls now.
  await onDatabase(database.connectionString, async (client) => {
    await client.query('set role holdfast_worker')
    await client.query('select holdfast.plain(), holdfast.missing_partitions()')
    await expect(client.query('select holdfast.peek()')).rejects.toMatchObject({ code: '42501' })
  })
  await withHoldfast((holdfast) => holdfast.grantRoles())
  expect(await open()).toEqual([])
})
