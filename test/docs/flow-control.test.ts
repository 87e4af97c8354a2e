import { defineDependency, defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'

let scratch: ScratchDatabase
let holdfast: Holdfast

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
})
afterEach(async () => {
  await holdfast.close()
  await scratch.drop()
})

/** Runs the examples of a page one after the other, as the person who reads it would. */
async function runs(code: readonly string[], names: Record<string, unknown>): Promise<string[]> {
  const printed: string[] = []
  const given = { holdfast, console: { log: (text: unknown) => printed.push(String(text)) }, ...names }
  for (const example of code) await runExample(example, given)
  return printed
}

describe('docs/flow-control.md', () => {
  test('has examples that run as they stand, one after the other', async () => {
    await holdfast.registerTypes([defineType({ type: 'send_email' })])
    const printed = await runs(blocks(docsPage('flow-control.md'), 'js'), { defineDependency, defineType })
    expect(printed).toEqual(['send_email was paused by ada (the mail server is down)', 'resuming send_email'])
  })

  test('says of each seeded lane what the table has', async () => {
    const rows = [...docsPage('flow-control.md').matchAll(/^\| `(\w+)` \| (\d+|no limit) \| (\d+) s \|$/gm)]
    const lanes = await holdfast.flow.lanes()
    expect(rows.map(([, name, slots, poll]) => [name, slots, poll])).toEqual(
      lanes.map(({ name, slots, pollMs }) => [name, slots === null ? 'no limit' : String(slots), String(pollMs / 1_000)]),
    )
  })
})

test('docs/dead-letters.md has examples that run as they stand, one after the other', async () => {
  await holdfast.registerTypes([defineType({ type: 'send_email' })])
  const client = new pg.Client({ connectionString: scratch.connectionString })
  await client.connect()
  await holdfast.enqueueMany(Array.from({ length: 15 }, () => ({ type: 'send_email', payload: { to: 'ada@exmaple.com' } })))
  await client.query(`with gone as (delete from holdfast.queue returning *)
    insert into holdfast.dead_letters select job_id, holdfast.now(), type_id, priority, attempt, 'exhausted',
      '{"name": "Error", "message": "Connection refused"}' from gone`)
  await client.end()
  // One after the other in one scope: the later ones use what the first ones found.
  const printed = await runs([blocks(docsPage('dead-letters.md'), 'js').join('\n')], {})
  expect(printed).toEqual([
    ...Array(15).fill('exhausted: Connection refused'),
    'scheduled → dead',
    'true',
    'it is not dead but pending',
  ])
})

test('docs/uniqueness.md has examples that run as they stand', async () => {
  const [first = '', second = ''] = blocks(docsPage('uniqueness.md'), 'ts')
  // The definition stands second on the page.
  await runs([`${second}; await holdfast.registerTypes([rebuildIndex]); ${first}`], { defineType })
  const client = new pg.Client({ connectionString: scratch.connectionString })
  await client.connect()
  for (const text of blocks(docsPage('uniqueness.md'), 'sql')) {
    expect((await client.query(text)).rows).toEqual([{ id: expect.any(String), status: 'existing' }])
  }
  await client.end()
})
