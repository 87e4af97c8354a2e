import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'

const server = process.env.HOLDFAST_TEST_URL as string

test('a database for a test costs one connection at most, two questions and one copy of the template', async () => {
  const first = await makeScratchDatabase(server)
  onTestFinished(() => first.drop() as Promise<void>)
  const connects = vi.spyOn(pg.Client.prototype, 'connect')
  const queries = vi.spyOn(pg.Client.prototype, 'query')
  // A connection that was kept is asked first whether it is still there.
  const sent = () =>
    queries.mock.calls.map(([query]) => String(query).replace(/\d{8}_\w+/g, '…')).filter((query) => query !== 'select')
  onTestFinished(() => void vi.restoreAllMocks())
  const made = await makeScratchDatabase(server)
  // That of the database before is kept for a moment.
  expect(connects.mock.calls.length).toBeLessThanOrEqual(1)
  expect(sent()).toEqual([
    'select from pg_database where datname = $1',
    expect.stringMatching(/^select current_setting\('fsync'\)/),
    expect.stringMatching(/^create database holdfast_scratch_… template holdfast_template_… ?(?:strategy file_copy)?$/),
  ])
  queries.mockClear()
  await made.drop()
  expect(sent()).toEqual([
    expect.stringMatching(/^select from pg_stat_activity/),
    'drop database if exists holdfast_scratch_… with (force)',
  ])
})
