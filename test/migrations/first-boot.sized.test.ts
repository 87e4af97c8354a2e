import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schemaFiles } from '../../src/store/schema-files.js'
import { bundledProgram } from '../support/bundled-programs.js'
import { describeSchema } from '../support/describe-schema.js'
import { makeEmptyDatabase, onDatabase } from '../support/empty-database.js'
import { sized } from '../support/sized.js'

const processes = sized({ sample: 4, whole: 8 })
const rounds = sized({ sample: 1, whole: 10 })
let booting: ChildProcess[] = []

beforeAll(() => {
  booting = Array.from({ length: processes }, () =>
    fork(bundledProgram('booting-process'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  )
})

afterAll(async () => {
  await Promise.all(
    booting.map(async (child) => {
      const gone = once(child, 'exit')
      child.disconnect()
      await gone
    }),
  )
})

/** The URL sets it off; the answer comes when the process has migrated and stored a job. */
async function boot(child: ChildProcess, url: string): Promise<{ applied: number; error?: string }> {
  const answer = once(child, 'message')
  child.send(url)
  const [said] = await answer
  return said
}

test(`${processes} processes that start at once on an empty database all come up, ${rounds} times over, and the schema is the same`, async () => {
  const ours = schemaFiles()
  const schemas = new Set<string>()
  for (let round = 1; round <= rounds; round++) {
    const database = await makeEmptyDatabase()
    try {
      const answers = await Promise.all(booting.map((child) => boot(child, database.connectionString)))
      expect(answers.map((answer) => answer.error)).toEqual(booting.map(() => undefined))
      // Who comes first runs all of them; for the others nothing is left.
      expect(answers.map((answer) => answer.applied).sort((a, b) => b - a)).toEqual([
        ours.length,
        ...booting.slice(1).map(() => 0),
      ])
      const facts = await onDatabase(database.connectionString, async (client) => ({
        migrations: (await client.query('select number, checksum from holdfast.migrations order by number')).rows,
        jobs: (await client.query('select count(*)::integer as count from holdfast.jobs')).rows[0].count,
        days: (await client.query(`select count(*)::integer as count from pg_class where relname ~ '^bodies_[0-9]{8}$'`)).rows[0]
          .count,
      }))
      expect(facts.migrations).toEqual(ours.map(({ number, checksum }) => ({ number, checksum })))
      expect(facts.jobs).toBe(processes)
      expect(facts.days).toBeGreaterThanOrEqual(4)
      schemas.add(await describeSchema(database.connectionString))
    } finally {
      await database.drop()
    }
  }
  expect(schemas.size).toBe(1)
}, 240_000)
