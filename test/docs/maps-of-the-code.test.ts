/** ARCHITECTURE.md and src/README.md lead through the code: what they name is there, and no folder is left out. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { filesUnder, repository, sourceFiles } from '../support/source.js'

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

const page = (name: string) => readFileSync(join(repository, name), 'utf8')
const maps = ['ARCHITECTURE.md', join('src', 'README.md')]
const src = filesUnder(join(repository, 'src'), '.ts', '.sql').map((path) => path.replaceAll('\\', '/'))
const entries = Object.keys(JSON.parse(page('package.json')).exports).map((entry) => `holdfast${entry.slice(1)}`)

/** Everything in the schema that can be named: tables, views, sequences, functions, and columns with and without their table. */
async function namesInSchema(): Promise<Set<string>> {
  const { rows } = await sql.query<{ name: string }>(`
    select c.relname as name from pg_class as c where c.relnamespace = 'holdfast'::regnamespace
    union select p.proname from pg_proc as p where p.pronamespace = 'holdfast'::regnamespace
    union select unnest(array[a.attname, c.relname || '.' || a.attname]) from pg_attribute as a join pg_class as c on c.oid = a.attrelid
    where c.relnamespace = 'holdfast'::regnamespace and a.attnum > 0`)
  return new Set(rows.map(({ name }) => name))
}

/** What a page names as code: `queue`, `holdfast.now()`, `settle/settler.ts`; a comparison counts by what it compares. */
const namesOn = (text: string) => {
  const names = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)
  return [...new Set([...names].map(([, name = '']) => name.replace(/ > \d+$/, '').replace(/\(\)$/, '')))]
}

/** What is not in the code: a setting of PostgreSQL. */
const elsewhere = ['fillfactor']

async function unknown(text: string): Promise<string[]> {
  const schema = await namesInSchema()
  const code = sourceFiles().map(({ code }) => code)
  const isFile = (name: string) => src.some((path) => `${path}/`.includes(`/${name.replace(/^src\//, '').replace(/\/$/, '')}/`))
  const isWord = (name: string) => {
    const word = new RegExp(`\\b${name.replace(/^.*\./, '')}\\b`)
    return code.some((one) => word.test(one))
  }
  return namesOn(text).filter((name) => {
    if (elsewhere.includes(name) || entries.includes(name) || schema.has(name.replace(/^holdfast\./, ''))) return false
    // A file or a folder; a folder that a page names without a slash, a method, an option.
    return /\.(?:ts|sql)$|\//.test(name) ? !isFile(name) : !isFile(name) && !isWord(name)
  })
}

test.each(maps)('%s names what is there: files, tables, columns, functions, options', async (name) => {
  const text = page(name)
  expect(namesOn(text).length).toBeGreaterThan(40)
  expect(await unknown(text)).toEqual([])
})

test('a name that is gone would be found', async () => {
  const gone =
    '`queue` `lease_id` `claim/loop.ts` `holdfast.now()` `gone_workers` `gates.turn_of` `claim/gone.ts` `holdfast.promote_due()` `src/nowhere`'
  expect(await unknown(gone)).toEqual(['gone_workers', 'gates.turn_of', 'claim/gone.ts', 'holdfast.promote_due', 'src/nowhere'])
})

test('src/README.md leads into every folder of the code', () => {
  const folders = readdirSync(join(repository, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const text = page(join('src', 'README.md'))
  expect(folders.map(({ name }) => name).filter((name) => !text.includes(`](${name}/`))).toEqual([])
})
