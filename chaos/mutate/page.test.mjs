import { expect, test } from 'vitest'
import { withReports } from '../report-page.mjs'
import { explained } from './explained.mjs'

const page = '# Reliability\n\n<!-- report: made by node chaos/page.mjs -->\nold\n<!-- end of report -->\n'
const [{ name, says, why }] = explained
const mutation = {
  seed: 1,
  source: 'abc',
  functions: 442,
  possible: { where: 1867, condition: 180, comparison: 1984, boundary: 468, lock: 179 },
  mutants: {
    'settle_jobs/lock/1': {
      kind: 'lock',
      says: 'without the lock',
      status: 'killed',
      by: 'test/journeys/settle.test.ts > a test',
    },
    'settle_jobs/lock/2': { kind: 'lock', says: 'waits for locked rows', status: 'survived', tests: 20 },
    'settle_jobs/lock/3': { kind: 'lock', says: 'without it', status: 'late' },
    [`${name}/where/1`]: { kind: 'where', says, status: 'survived', tests: 20 },
  },
}

test('the page says which share of the mutants is killed, and of each that survives why, where somebody knows', () => {
  const written = withReports(page, { mutation }, 'abc')
  expect(written).toMatch(/\| a lock is not taken[^|]*\| 179 \| 1 \| 1 \| 50 % \|/)
  expect(written).toMatch(/\| a condition of an IF[^|]*\| 180 \| 0 \| 0 \| none tried \|/)
  expect(written).toContain('1 came to no verdict in time')
  expect(written).toContain('- `settle_jobs/lock/2`, waits for locked rows: **not explained yet**')
  expect(written).toContain(`${says}: ${why}`)
  expect(written).toContain('It ran on the sources whose tree is `abc`')
})
