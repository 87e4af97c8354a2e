import { readFileSync } from 'node:fs'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { statement } from '../../src/store/queries.js'

/** What users of the database may read and call is documented, commented, and finds its names whatever the caller's search path. */
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

const rows = async <T extends pg.QueryResultRow>(text: string, values: unknown[] = []) => (await sql.query<T>(text, values)).rows

describe('what docs/schema.md lists', () => {
  const page = readFileSync(new URL('../../docs/schema.md', import.meta.url), 'utf8')
  const listed = new Map(
    [...page.matchAll(/^\| `holdfast\.(\w+)(?:\([^`]*\))?` +\| (.+?) +\|$/gm)].map(([, name, text]) => [name, text]),
  )

  test('is what has a comment in the database, in the same words', async () => {
    const commented = await rows<{ name: string; text: string }>(`
      select c.relname as name, d.description as text from pg_class as c join pg_description as d on d.objoid = c.oid and d.objsubid = 0
      where c.relnamespace = 'holdfast'::regnamespace and d.classoid = 'pg_class'::regclass
      union all
      select p.proname, d.description from pg_proc as p join pg_description as d on d.objoid = p.oid
      where p.pronamespace = 'holdfast'::regnamespace and d.classoid = 'pg_proc'::regclass`)
    const byName = (entries: Iterable<readonly [string | undefined, string | undefined]>) =>
      Object.fromEntries([...entries].sort())
    expect(listed.size).toBeGreaterThan(20)
    expect(byName(listed)).toEqual(byName(commented.map(({ name, text }) => [name, text])))
  })

  test('has a comment on every column of a view, and of each table on those that stay', async () => {
    const columns = await rows<{ relation: string; kind: string; name: string; text: string | null }>(
      `select c.relname as relation, c.relkind as kind, a.attname as name, col_description(c.oid, a.attnum) as text
       from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'v') and c.relname = any ($1)`,
      [[...listed.keys()]],
    )
    const silent = columns.filter(({ text }) => text === null)
    expect(silent.filter(({ kind }) => kind === 'v').map(({ relation, name }) => `${relation}.${name}`)).toEqual([])
    const said = new Set(columns.filter(({ text }) => text !== null).map(({ relation }) => relation))
    expect([...said].sort()).toEqual([...new Set(columns.map(({ relation }) => relation))].sort())
    // What users join by and look for stays; how a gate remembers its turns does not.
    const stays = (relation: string, name: string) =>
      columns.some((one) => one.relation === relation && one.name === name && one.text !== null)
    expect([stays('types', 'name'), stays('workers', 'seen_at'), stays('gates', 'turn_key')]).toEqual([true, true, false])
  })

  test('has everything that a reader may read', () => {
    const [, names = ''] = /relname = any \(array\[([^\]]+)\]/.exec(statement('grantRoles').text) ?? []
    const readable = [...names.matchAll(/'(\w+)'/g)].map(([, name]) => name)
    expect(readable).toContain('jobs')
    expect(readable.filter((name) => !listed.has(name))).toEqual([])
  })
})

test('a function with the rights of its owner looks into the schema of its installation, and into what is temporary last', async () => {
  const found = await rows<{ name: string; path: string | null }>(`
    select p.proname as name, (select c from unnest(p.proconfig) as c where c like 'search_path=%') as path from pg_proc as p
    where p.pronamespace = 'holdfast'::regnamespace and p.prosecdef`)
  expect(found.map(({ name }) => name)).toContain('enqueue')
  expect(found.filter(({ path }) => path !== 'search_path=holdfast, pg_temp')).toEqual([])
})

describe('every other function names the schema of whatever is ours', () => {
  test('in SQL, which PostgreSQL reads here without any search path', async () => {
    const functions = await rows<{ name: string; text: string }>(`
      select p.proname as name, pg_get_functiondef(p.oid) as text from pg_proc as p join pg_language as l on l.oid = p.prolang
      where p.pronamespace = 'holdfast'::regnamespace and l.lanname = 'sql' and not p.prosecdef`)
    expect(functions.length).toBeGreaterThan(10)
    const wrong: string[] = []
    for (const { name, text } of functions) {
      await sql.query(`begin; set local search_path = ''; set local check_function_bodies = on`)
      await sql.query(text).catch((error: Error) => wrong.push(`${name}: ${error.message}`))
      await sql.query('rollback')
    }
    expect(wrong).toEqual([])
  })

  test('in PL/pgSQL, of which the text is searched', async () => {
    expect(await unqualified()).toEqual([])
    await sql.query(`set search_path = holdfast; create function holdfast.careless() returns void language plpgsql as
      $$ declare
           v_ready holdfast.ready[];
           v_actor actor;
         begin
           perform wake_lanes(array(select lane_id from queue), true); insert into gate_leases default values;
           v_ready := '{}'::ready[]; v_ready := '{}'::holdfast.ready[];
         end $$; reset search_path`)
    expect(await unqualified()).toEqual([
      'careless: actor (a type)',
      'careless: gate_leases',
      'careless: queue',
      'careless: ready (a type)',
      'careless: wake_lanes(',
    ])
    await sql.query('drop function holdfast.careless')
  })
})

/** Names of our tables, types and functions that stand in a PL/pgSQL function without the schema, and are not of its own making. */
async function unqualified(): Promise<string[]> {
  const names = async (text: string) => new Set((await rows<{ name: string }>(text)).map(({ name }) => name))
  const tables = await names(
    `select relname as name from pg_class where relnamespace = 'holdfast'::regnamespace and relkind in ('r', 'p', 'v', 'S')`,
  )
  const functions = await names(`select proname as name from pg_proc where pronamespace = 'holdfast'::regnamespace
    except select proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace`)
  const types = await names(`select typname as name from pg_type where typnamespace = 'holdfast'::regnamespace`)
  const sources = await rows<{ name: string; text: string }>(`
    select p.proname as name, p.prosrc as text from pg_proc as p join pg_language as l on l.oid = p.prolang
    where p.pronamespace = 'holdfast'::regnamespace and l.lanname = 'plpgsql' and not p.prosecdef`)
  const found = sources.flatMap(({ name, text }) => {
    const code = text.replaceAll(/--.*$/gm, '').replaceAll(/'(?:[^']|'')*'/g, "''")
    const own = new Set([...code.matchAll(/\b(\w+)(?: \([^)]*\))? as (?:materialized )?\(/g)].map(([, cte]) => cte))
    const read = [...code.matchAll(/\b(?:from|join|insert into|update|using|table)\s+(?:only\s+)?(\w+)\b(?!\s*[.(])/gi)].map(
      ([, table]) => table,
    )
    const called = [...code.matchAll(/(?<![\w.$])(\w+)\(/g)].map(([, called]) => called)
    const typed = [...code.matchAll(/::\s*(\w+)\b(?!\.)|^\s*(?:declare\s+)?v_\w+\s+(?:constant\s+)?(\w+)\b(?!\.)/gm)].map(
      ([, cast, declared]) => cast ?? declared,
    )
    return [
      ...typed.filter((type) => type && types.has(type)).map((type) => `${name}: ${type} (a type)`),
      ...read.filter((table) => table && tables.has(table) && !own.has(table)).map((table) => `${name}: ${table}`),
      ...called.filter((called) => called && functions.has(called)).map((called) => `${name}: ${called}(`),
    ]
  })
  return [...new Set(found)].sort()
}
