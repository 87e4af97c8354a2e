import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { allStatements } from '../../src/store/queries.js'
import { breaches, readContract } from '../../tools/contract.mjs'

/** What `npm run release` has stored, a file for each release. */
const folder = new URL('./contracts/', import.meta.url)
const stored = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
let scratch: ScratchDatabase
let client: pg.Client

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  client = new pg.Client({ connectionString: scratch.connectionString })
  await client.connect()
})

afterEach(async () => {
  await client.end()
  await scratch.drop()
})

const revokeKey = 'holdfast.revoke_key(p_id integer, p_actor holdfast.actor)'

it('programs of every older release are answered as they were: each statement can be prepared, with the same columns', async () => {
  const broken: Record<string, string[]> = {}
  for (const name of stored) {
    const { statements } = JSON.parse(readFileSync(new URL(name, folder), 'utf8'))
    const found = await breaches(client, statements)
    if (found.length > 0) broken[name] = found
  }
  expect(broken).toEqual({})
})

describe('the contract of this release', () => {
  it('has every statement, with its parameters and the columns of its answer, and the database keeps it', async () => {
    const contract = await readContract(client, allStatements())
    expect(contract.map(({ name }) => name)).toEqual(allStatements().map(({ name }) => name))
    const { parameters, columns } = contract.find(({ name }) => name === 'revokeKey') ?? {}
    expect({ parameters, columns }).toEqual({ parameters: ['text', 'text', 'text', 'text'], columns: ['known boolean'] })
    expect(await breaches(client, contract)).toEqual([])
  })

  it.each([
    {
      change: 'answers with another type',
      sql: `drop function holdfast.revoke_key; create function ${revokeKey} returns integer language sql as 'select 1'`,
      breach: 'revokeKey: its columns were (known boolean) and are (known integer)',
    },
    {
      change: 'has got another name',
      sql: `alter function holdfast.revoke_key rename to revoke_key_2`,
      breach: expect.stringMatching(/^revokeKey: function holdfast.revoke_key\(.*\) does not exist$/),
    },
  ])('is broken, and names the one statement, where a function $change', async ({ sql, breach }) => {
    const contract = await readContract(client, allStatements())
    await client.query(sql)
    expect(await breaches(client, contract)).toEqual([breach])
  })
})
