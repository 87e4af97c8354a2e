import { expect, test } from 'vitest'
import { durabilityFindings } from './durability.js'

const safe = { fsync: 'on', pages: 'on', commits: 'on', standbys: '' }

test('a server that keeps what it commits is nothing to warn of', () => {
  for (const commits of ['on', 'remote_write', 'remote_apply', 'local'])
    expect(durabilityFindings({ ...safe, commits })).toEqual([])
})

test.each([
  [{ fsync: 'off' }, /^fsync is off/],
  [{ pages: 'off' }, /^full_page_writes is off/],
  [{ commits: 'off' }, /^synchronous_commit is off/],
  [{ commits: 'local', standbys: 'one' }, /^synchronous_commit is local/],
])('%o is named', (setting, warning) => {
  expect(durabilityFindings({ ...safe, ...setting }).map(({ message }) => message)).toEqual([expect.stringMatching(warning)])
})

test('every dangerous setting is named', () => {
  expect(durabilityFindings({ fsync: 'off', pages: 'off', commits: 'off', standbys: '' })).toHaveLength(3)
})
