import { expect, test } from 'vitest'
import { shortcomings } from '../tools/evidence.mjs'

const short = { length: 'short', source: 'a', failures: [] }
const long = {
  ...{ length: 'long', source: 'a', failures: [], sweep: { cases: 9, of: 9 }, soak: { minutes: 60 } },
  campaigns: { 'campaigns/mixed/1': 3_000, 'campaigns/mixed/2': 2_000, 'campaigns/promotion': 4 },
}

test('whole reports of these sources are evidence', () => {
  expect([short, long].flatMap((report) => shortcomings(report, 'a'))).toEqual([])
})

test.each([
  ['of other sources', { ...short, source: 'b' }, /was made on b, and src is a; npm run chaos -- --seed 2/],
  ['of sources it does not name', { ...long, source: undefined }, /sources it does not name.*--part all --resume/],
  ['with a failure', { ...short, failures: [{ name: 'scenarios/x' }] }, /scenarios\/x failed/],
  ['with a sample of the sweep', { ...long, sweep: { cases: 8, of: 9 } }, /8 of 9 cases/],
  ['without the sweep', { ...long, sweep: undefined }, /0 of all cases/],
  ['with fewer faults', { ...long, campaigns: { 'campaigns/mixed/1': 4_999, 'campaigns/promotion': 9 } }, /4999 faults/],
  ['without an hour of soak', { ...long, soak: { minutes: 59 } }, /no soak of an hour/],
])('a report %s is none', (_, report, why) => {
  expect(shortcomings(report, 'a')).toEqual([expect.stringMatching(why)])
})
