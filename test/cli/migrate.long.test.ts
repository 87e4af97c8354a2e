import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Program } from '../support/holdfast-program.js'
import { quiet } from '../support/small-worker.js'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const server = process.env.HOLDFAST_TEST_URL as string

let name: string
let url: string

beforeEach(async () => {
  name = `holdfast_cli_${Math.random().toString(36).slice(2, 10)}`
  await ask(server, `create database ${name}`)
  url = Object.assign(new URL(server), { pathname: `/${name}` }).href
})
afterEach(async () => void (await ask(server, `drop database if exists ${name} with (force)`)))

describe('holdfast migrate', () => {
  test('says what it applied, and the second time that there was nothing to do', async () => {
    const first = await run(['migrate', '--database-url', url])
    expect(first).toMatchObject({ code: 0, complaints: '' })
    expect(first.output).toMatch(/^Brought up to this version:\n {2}0001 {2}jobs\n[\s\S]* {2}functions and views\n$/)
    expect(await ask(url, "select holdfast.enqueue('x', '{}')").catch((error) => error.code)).toBe('HF001')
    expect(await run(['migrate'], { DATABASE_URL: url })).toEqual({
      code: 0,
      output: 'Nothing to do: the schema is up to date.\n',
      complaints: '',
    })
  })

  test('answers in JSON on request', async () => {
    const first = JSON.parse((await run(['migrate', '--json', '--database-url', url])).output)
    expect(first).toMatchObject({ functions: true })
    expect(first.files[0]).toMatchObject({ number: 1, name: 'jobs' })
    const second = await run(['migrate', '--json', '--database-url', url])
    expect(JSON.parse(second.output)).toEqual({ files: [], functions: false })
  })

  test('--sql prints a script that does the same, and touches no database', async () => {
    const printed = await run(['migrate', '--sql'])
    expect(printed.code).toBe(0)
    await ask(url, printed.output)
    expect((await run(['migrate', '--database-url', url])).output).toBe('Nothing to do: the schema is up to date.\n')
  })

  test('--roles makes roles and gives them their rights; with --sql it prints a script that does', async () => {
    expect(await run(['migrate', '--roles', '--database-url', url])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^Brought up to this version:[\s\S]*\nRoles: holdfast_producer, /),
    })
    const may = `select has_table_privilege('holdfast_worker', 'holdfast.queue', 'delete') as delete,
                        has_schema_privilege('holdfast_producer', 'holdfast', 'usage') as usage`
    expect((await ask(url, may)).rows).toEqual([{ delete: true, usage: true }])
    await ask(url, 'revoke all on schema holdfast from holdfast_producer')
    await ask(url, (await run(['migrate', '--roles', '--sql'])).output)
    expect((await ask(url, may)).rows).toEqual([{ delete: true, usage: true }])
  })

  test('says so where a newer version has migrated, and so does a worker', async () => {
    await run(['migrate', '--database-url', url])
    await ask(url, `insert into holdfast.migrations (number, name, checksum) values (9999, 'later', 'x')`)
    const { code, output } = await run(['migrate', '--database-url', url])
    expect(code).toBe(0)
    expect(output).toMatch(
      /^Nothing to do: the schema is at file 9999 and this version knows \d+: a newer version has migrated it/,
    )
    const holdfast = new Holdfast({ connectionString: url })
    const worker = await startWorker(holdfast, [defineType({ type: 'work', run() {} })], { logger: quiet })
    expect(worker.health().warnings).toContainEqual(expect.stringMatching(/^the schema is at file 9999/))
    await worker.stop()
    await holdfast.close()
  })

  test('--sql ends without a word when its reader has seen enough', async () => {
    const program = new Program(tmpdir(), ['migrate', '--sql'])
    program.process.stdout?.destroy()
    expect(await program.ended).toBe(0)
    expect(program.complaints).toBe('')
  })
})

describe('what cannot work is said in one line, without a stack', () => {
  test('no database', async () => {
    const { code, output, complaints } = await run(['migrate'])
    expect({ code, output }).toEqual({ code: 2, output: '' })
    expect(complaints).toMatch(
      /^holdfast: no database was given to migrate: set DATABASE_URL, or pass --database-url postgres:[^\n]*\n$/,
    )
  })

  test('a database that does not answer', async () => {
    const { code, complaints } = await run(['migrate', '--database-url', 'postgres://me:secret@127.0.0.1:1/app'])
    expect(code).toBe(1)
    expect(complaints).toMatch(/^holdfast: the database did not answer: [^\n]+\n$/)
    expect(complaints).not.toContain('secret')
  })

  test('a database that does not exist, in the words of Postgres', async () => {
    const wrong = Object.assign(new URL(url), { pathname: '/no_such_database' }).href
    const { code, complaints } = await run(['migrate', '--database-url', wrong])
    expect({ code, complaints }).toEqual({ code: 1, complaints: 'holdfast: database "no_such_database" does not exist\n' })
  })

  test('in JSON where JSON was asked for', async () => {
    const { code, complaints } = await run(['migrate', '--json', '--database-url', 'postgres://127.0.0.1:1/app'])
    expect(code).toBe(1)
    expect(JSON.parse(complaints)).toMatchObject({ error: { code: 'database_unavailable' } })
  })

  test('a schema file that was changed after it ran', async () => {
    await run(['migrate', '--database-url', url])
    await ask(url, "update holdfast.migrations set checksum = 'another' where number = 1")
    const { code, complaints } = await run(['migrate', '--database-url', url])
    expect(code).toBe(1)
    expect(complaints).toMatch(/^holdfast: schema file 1 \(jobs\) is not the one that ran[^\n]*\n$/)
  })

  test('a command or an option that does not exist, with what was probably meant', async () => {
    expect((await run(['migrat'])).complaints).toMatch(/unknown command 'migrat'[\s\S]*Did you mean migrate\?/)
    expect((await run(['migrate', '--jsno'])).complaints).toMatch(/unknown option '--jsno'[\s\S]*Did you mean --json\?/)
  })
})

describe('holdfast', () => {
  test('--version prints the version and nothing else', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, output: `${version}\n`, complaints: '' })
  })

  test('--help names every command in a line', async () => {
    const { code, output } = await run(['--help'])
    expect(code).toBe(0)
    expect(output).toMatch(/^ {2}up .+$/m)
    expect(output).toMatch(/^ {2}migrate .+$/m)
    expect((await run(['up', '--help'])).output).toContain('HOLDFAST_DEMO ')
  })
})

async function run(args: string[], env: Record<string, string> = {}) {
  const program = new Program(tmpdir(), args, { env })
  const code = await program.ended
  return { code, output: program.output, complaints: program.complaints }
}

async function ask(connectionString: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return await client.query(sql)
  } finally {
    await client.end()
  }
}
