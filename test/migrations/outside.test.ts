import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { schemaFiles } from '../../src/store/schema-files.js'
import { type AnotherVersion, makeVersion } from '../support/another-version.js'
import { onDatabase } from '../support/empty-database.js'
import { eventually } from '../support/facts.js'

/** A schema file that runs outside of a transaction builds its indexes beside those who work, whatever happens to it on the way. */
vi.setConfig({ testTimeout: 120_000 })

const sql = `-- Why: a test. Outside of a transaction, because the tables are in use.
create index concurrently if not exists waiting_of_type on holdfast.waiting (type_id);
create index concurrently if not exists leases_of_worker on holdfast.leases (worker_id);
`
const ran = { files: [{ number: 999, name: 'index' }], functions: false }
const nothing = { files: [], functions: false }

let database: ScratchDatabase
let version: AnotherVersion

beforeAll(async () => {
  version = await makeVersion(({ schema }) => Object.assign(schema, { '0999_index.sql': sql }))
})
afterAll(() => version.remove())
beforeEach(async () => {
  database = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
})
afterEach(() => database.drop())

const ask = async (client: pg.Client, text: string) => (await client.query(text)).rows

/** Both indexes, where they exist: which one it is, and whether it is whole. */
const indexes = (client: pg.Client) =>
  ask(
    client,
    `select i.indexrelid::regclass::text as name, i.indexrelid as id, i.indisvalid as valid from pg_index as i
     where i.indexrelid in (to_regclass('holdfast.waiting_of_type'), to_regclass('holdfast.leases_of_worker')) order by 1 desc`,
  )
const states = async (client: pg.Client) => (await indexes(client)).map(({ valid }) => valid)
const whole = [true, true]

test('builds its indexes on a schema that is there', async () => {
  expect(await version.migrate(database.connectionString)).toEqual(ran)
  expect(await onDatabase(database.connectionString, states)).toEqual(whole)
  expect(await version.migrate(database.connectionString)).toEqual(nothing)
})

test('runs once where several processes start at once', async () => {
  const all = await Promise.all(Array.from({ length: 3 }, () => version.migrateInItsProcess(database.connectionString)))
  expect(all.flatMap((one): unknown[] => ('files' in one ? one.files : [one]))).toEqual(ran.files)
})

const atIndex = (client: pg.Client, index: string) =>
  ask(client, `select pid from pg_stat_progress_create_index where index_relid = to_regclass('holdfast.${index}')`)

/** Where it is held up, by the lock of a table, and who does it then. */
const moments = [
  {
    moment: 'while it builds its first index',
    lock: 'waiting in row exclusive mode',
    doing: (client: pg.Client) => atIndex(client, 'waiting_of_type'),
    left: [false],
  },
  {
    moment: 'between its statements, when the first index is built',
    lock: 'leases in row exclusive mode',
    doing: (client: pg.Client) => atIndex(client, 'leases_of_worker'),
    left: [true, false],
  },
  {
    moment: 'after its last statement, before it is recorded',
    lock: 'migrations in share mode',
    doing: (client: pg.Client) =>
      ask(client, `select pid from pg_locks where relation = 'holdfast.migrations'::regclass and not granted`),
    left: whole,
  },
]

describe.each(moments)('interrupted $moment', ({ lock, doing, left }) => {
  test.each(['its connection is terminated', 'its process is killed'])('%s: it is run again to its end', async (how) => {
    await onDatabase(database.connectionString, async (looker) => {
      const before = await onDatabase(database.connectionString, async (busy) => {
        await busy.query(`begin; lock table holdfast.${lock}`)
        const kill = new AbortController()
        const isKilled = how === 'its process is killed'
        const interrupted = isKilled
          ? version.migrateInItsProcess(database.connectionString, kill.signal).catch(() => 'killed')
          : version.migrate(database.connectionString)
        const { pid } = await eventually(async () => {
          const [one] = await doing(looker)
          return one?.pid && (await states(looker)).length === left.length ? one : undefined
        })
        const before = await indexes(looker)
        expect(before.map(({ valid }) => valid)).toEqual(left)
        if (isKilled) {
          kill.abort()
          expect(await interrupted).toBe('killed')
          // PostgreSQL goes on with what it was doing, and the next process meets it.
          expect(await ask(looker, `select from pg_stat_activity where pid = ${pid}`)).toHaveLength(1)
        } else {
          await looker.query('select pg_terminate_backend($1)', [pid])
          expect(await interrupted).toMatchObject({ message: expect.stringMatching(/terminat/) })
        }
        const old = await migrating(looker)
        const again = version.migrate(database.connectionString)
        await eventually(async () => (await migrating(looker)).some((one) => !old.includes(one)))
        await busy.query('rollback')
        expect(await again).toEqual(ran)
        return before
      })
      expect(await states(looker)).toEqual(whole)
      const built = before.filter(({ valid }) => valid)
      expect(await indexes(looker)).toEqual(expect.arrayContaining(built))
      expect(await version.migrate(database.connectionString)).toEqual(nothing)
    })
  })
})

/** The connections of migrations that wait: for the lock of a table, or for the end of another migration. */
async function migrating(client: pg.Client): Promise<number[]> {
  const found = await ask(
    client,
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'holdfast'
     and (wait_event_type = 'Lock' or query like 'select pg_try_advisory_xact_lock%')`,
  )
  return found.map(({ pid }) => pid)
}

test.each([
  ['create index concurrently waiting_of_type on holdfast.waiting (type_id);', 'must say "if not exists"'],
  ['create unique index concurrently\n  waiting_of_type on holdfast.waiting (job_id);', 'must say "if not exists"'],
  ['drop index concurrently holdfast.waiting_of_type;', 'must say "if exists"'],
])('is refused where it cannot run twice: %s', (statement, why) => {
  const files = (text: string) => schemaFiles(new Map([['0999_index.sql', text]]))
  const outside = '-- Why: a test. Outside of a transaction, because the table is in use.\n'
  expect(() => files(`${outside}${sql}${statement}\n`)).toThrow(why)
  // A file that is one transaction is undone as a whole.
  expect(files(statement)).toHaveLength(1)
})
