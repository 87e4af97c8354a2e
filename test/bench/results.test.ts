import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

/** What a run of the bench leaves behind, without the run. */
const load = (file: string) => import(pathToFileURL(join(repository, 'bench', file)).href)
const { isMeasured, readResults, rowsOf, withGroup, writeResults } = await load('results.mjs')
const { describeCode, watchOthers } = await load('machine.mjs')
const { writePage } = await load('report/page.mjs')

const place = { machine: { cpu: 'a', cores: 2, memoryGb: 8, system: 'Linux 1' }, settings: { fsync: 'on' } }
const groupOf = (name: string) => ({
  name,
  rows: [{ name, title: () => name, unit: 'jobs/s', figure: 'rate', bars: [{ value: true, atLeast: 10 }] }],
})
const groups = ['drain', 'gates', 'fleets'].map(groupOf)
const measured = (rate: number, more: object = {}) => ({
  ...{
    date: '2026-01-02T00:00:00Z',
    commit: 'abc',
    tree: 'tree 1',
    run: 'short',
    size: { jobs: 5, rounds: 1 },
    others: 0,
    problems: [],
  },
  figures: { holdfast: { rate: { median: rate, lowest: rate, highest: rate, rounds: 1 } } },
  ...more,
})
let file: URL

beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-bench-results-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  file = pathToFileURL(join(directory, 'results', 'latest.json'))
})

describe('the results of the bench', () => {
  test('take up a group that was measured again, in the order of the groups, and keep the others', () => {
    const before = withGroup(withGroup(readResults(place, file), groups, 'fleets', measured(1)), groups, 'drain', measured(2))
    writeResults(before, rowsOf(before, groups), file)
    const after = withGroup(readResults(place, file), groups, 'fleets', measured(30, { commit: 'def', tree: 'tree 2' }))
    writeResults(after, rowsOf(after, groups), file)
    const { rows } = JSON.parse(readFileSync(file, 'utf8'))
    expect(rows).toMatchObject([
      { name: 'drain', holdfast: 2, met: false, measured: { commit: 'abc', tree: 'tree 1', run: 'short' } },
      { name: 'fleets', holdfast: 30, met: true, measured: { commit: 'def', tree: 'tree 2' } },
    ])
  })

  test('begin anew on another machine and with other settings, not with another kernel', () => {
    const before = withGroup(readResults(place, file), groups, 'drain', measured(1))
    writeResults(before, [], file)
    const there = (machine: object, settings = {}) => ({
      machine: { ...place.machine, ...machine },
      settings: { ...place.settings, ...settings },
    })
    expect(Object.keys(readResults(there({ system: 'Linux 2' }), file).groups)).toEqual(['drain'])
    expect(readResults(there({ cores: 4 }), file).groups).toEqual({})
    expect(readResults(there({}, { fsync: 'off' }), file).groups).toEqual({})
  })

  test('are none where nothing was written yet, or half of it', () => {
    expect(readResults(place, file).groups).toEqual({})
    writeResults(readResults(place, file), [], file)
    writeFileSync(file, readFileSync(file, 'utf8').slice(0, 20))
    expect(readResults(place, file).groups).toEqual({})
  })

  test('have a group that need not be measured again, where code and size are the same and nothing was missing', () => {
    const wanted = { tree: 'tree 1', run: 'short', size: { jobs: 5, rounds: 1 } }
    const results = (more: object) => withGroup(readResults(place, file), groups, 'drain', measured(1, more))
    expect(isMeasured(results({}), groups[0], wanted)).toBe(true)
    expect(isMeasured(results({}), groups[1], wanted)).toBe(false)
    expect(isMeasured(results({ problems: ['no Redis'] }), groups[0], wanted)).toBe(false)
    for (const other of [{ tree: 'tree 2' }, { tree: undefined }, { run: 'full' }, { size: { jobs: 6, rounds: 1 } }]) {
      expect(isMeasured(results({}), groups[0], { ...wanted, ...other })).toBe(false)
    }
  })

  test('stand on a page that says which code each row was measured on, which rows others disturbed, and what is missing', () => {
    const results = [
      ['drain', measured(1, { others: 40 })],
      ['gates', measured(2, { commit: 'def', tree: 'tree 2', date: '2026-01-03T00:00:00Z', problems: ['gates: no Redis'] })],
    ].reduce((some, [name, group]) => withGroup(some, groups, name, group), readResults(place, file))
    const page = writePage({ ...results, versions: {}, systems: [] }, rowsOf(results, groups), ['fleets'])
    expect(page).toMatch(/\*\*Not to be relied on\*\*.*: drain\./)
    expect(page).toContain('commit def (`src` tree 2), short sizes, 2026-01-03: gates.')
    expect(page).toContain('commit abc (`src` tree 1), short sizes, 2026-01-02: drain.')
    expect(page).toContain('Not measured: gates: no Redis.')
    expect(page).toContain('Not measured: the groups fleets.')
  })
})

test('the code is named by its commit and by what git would store of src, and asking leaves the index as it is', () => {
  const { commit, tree } = describeCode()
  // Outside of a clone there is neither.
  expect([commit, tree]).toEqual(
    commit === 'unknown' ? ['unknown', undefined] : [expect.any(String), expect.stringMatching(/^[0-9a-f]{40,}$/)],
  )
  expect(describeCode()).toEqual({ commit, tree })
})

test('what this process and the server use is not taken for what others use', () => {
  let serverMs = 0
  const [othersSince, othersBesideServer] = [watchOthers(() => 0), watchOthers(() => serverMs)]
  const until = performance.now() + 300
  while (performance.now() < until);
  // On a machine with nothing else to do one core of at least two was busy in here; on a busy one others had at most the rest.
  expect(othersSince()).toSatisfy((percent: number | null) => percent === null || percent < 100)
  serverMs = 3_600_000
  expect(othersBesideServer()).toSatisfy((percent: number | null) => percent === null || percent === 0)
})
