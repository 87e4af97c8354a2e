import { readFile } from 'node:fs/promises'
import { makeScratchDatabase } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { describeSchema } from '../support/describe-schema.js'
import { asAdmin } from '../support/empty-database.js'

const file = new URL('../../src/store/migrations/schema.sql', import.meta.url)

test('schema.sql shows what the migrations make; npm run schema writes it anew', async () => {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  try {
    const written = await readFile(file, 'utf8')
    const version = await asAdmin(async (client) =>
      Number((await client.query('show server_version_num')).rows[0].server_version_num),
    )
    // Each Postgres words the text of views its own way; the file has it as the embedded one does.
    const embedded = version >= 180_000
    const expected = embedded ? written : written.replace(/^(view holdfast\.[\s\S]*?)\nas\n[\s\S]*?;$/gm, '$1')
    expect(await describeSchema(scratch.connectionString, { definitions: embedded })).toBe(expected)
  } finally {
    await scratch.drop()
  }
})
