import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allStatements } from '../../src/store/queries.js'
import { sqlFiles } from '../../src/store/sql-files.js'

/**
 * A live job stands in one of three tables, and one file knows all of them: functions/places.sql. Everything else asks the view `live`
 * or one of the functions there, so that a new kind of waiting is added in one place.
 */
const tables = ['queue', 'waiting', 'following']

/** What may name three or more of the tables, all of it in places.sql. */
const allowed = [
  'change_priority',
  'follow_key',
  'holder_of_key',
  'live',
  'lock_place',
  'lock_unheld',
  'reorder_keys',
  'take_out',
]

let queue: ScratchQueue
let sql: pg.Client

beforeAll(async () => {
  queue = await scratchQueue()
  sql = new pg.Client({ connectionString: queue.connectionString })
  await sql.connect()
})
afterAll(async () => {
  await sql.end()
  await queue.close()
})

test('only the functions that places.sql lists know three or more of the places', async () => {
  const { rows } = await sql.query<{ name: string; text: string }>(`
    select p.proname as name, p.prosrc || coalesce(pg_get_function_arguments(p.oid), '') as text from pg_proc as p
    where p.pronamespace = 'holdfast'::regnamespace
    union all select viewname, definition from pg_views where schemaname = 'holdfast'`)
  const texts = [...rows, ...allStatements()]
  const named = (text: string) => {
    const code = text.replaceAll(/--.*$/gm, '')
    return tables.filter((table) => new RegExp(`\\bholdfast\\.${table}\\b`).test(code))
  }
  expect(
    texts
      .filter(({ text }) => named(text).length > 2)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(allowed)
})

test('put_ready puts jobs into the queue, and beside it only the hottest paths that places.sql names', async () => {
  const { rows } = await sql.query<{ name: string; text: string }>(`
    select p.proname as name, p.prosrc as text from pg_proc as p where p.pronamespace = 'holdfast'::regnamespace`)
  const inserting = [...rows, ...allStatements()]
    .filter(({ text }) => /\binsert into holdfast\.queue\b/.test(text.replaceAll(/--.*$/gm, '')))
    .map(({ name }) => name)
  expect(inserting.sort()).toEqual(['enqueue_all_plain', 'enqueue_job', 'promote_free', 'put_ready'])
  const [about = ''] = /^(?:--.*\n)+/.exec(sqlFiles('functions').get('places.sql') ?? '') ?? []
  expect(inserting.filter((name) => !about.includes(name))).toEqual([])
})
