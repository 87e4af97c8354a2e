import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { sized } from '../../test/support/sized.js'
import { sqlFunctions } from './functions.mjs'
import { mutantsOf } from './mutants.mjs'

/** Those of every so many functions. */
const step = sized({ sample: 12, whole: 1 })

test('PostgreSQL takes the mutants of the functions, all but few', async () => {
  const mutants = sqlFunctions()
    .filter((_, nth) => nth % step === 0)
    .flatMap(mutantsOf)
  const scratch = await makeScratchDatabase(inject('testUrl'))
  const client = new pg.Client({ connectionString: scratch.connectionString })
  await client.connect()
  const refused = []
  for (const { id, changed } of mutants) {
    await client.query('begin')
    await client.query(changed).catch(({ message }) => refused.push(`${id}: ${message}`))
    await client.query('rollback')
  }
  await client.end()
  await scratch.drop()
  expect(refused.length, refused.join('\n')).toBeLessThan(mutants.length / 100)
})
