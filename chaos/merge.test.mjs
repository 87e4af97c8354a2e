import { expect, test } from 'vitest'
import { isDone } from './evidence-parts.mjs'
import { mergeReports } from './merge.mjs'

const report = (more = {}) => ({
  ...{ seed: 1, length: 'long', source: 'a', finished: '2026-01-01', loadBefore: 1, seconds: 10, cases: 2, faults: { kill: 2 } },
  ...{ jobsAcknowledged: 5, executions: 6, invariants: { I1: { says: 'all are found', checked: 5, violations: 0 } } },
  ...{ campaigns: {}, scenarios: {}, controls: {}, fuzz: {}, notRun: [], failures: [] },
  ...more,
})

test('the reports of several parts add up to one', () => {
  const merged = mergeReports([
    report({ only: 'sweep/', sweep: { cases: 3, of: 3 } }),
    report({
      ...{ finished: '2026-01-02', loadBefore: 3, faults: { kill: 1, freeze: 4 }, campaigns: { 'campaigns/mixed/1': 5 } },
      ...{ invariants: { I1: { says: 'all are found', checked: 7, violations: 1 } }, failures: [{ name: 'x' }] },
    }),
  ])
  expect(merged).toEqual({
    ...{ seed: 1, length: 'long', source: 'a', finished: '2026-01-02', loadBefore: 3, seconds: 20, cases: 4 },
    ...{ faults: { kill: 3, freeze: 4 }, jobsAcknowledged: 10, executions: 12, sweep: { cases: 3, of: 3 } },
    invariants: { I1: { says: 'all are found', checked: 12, violations: 1 } },
    ...{ campaigns: { 'campaigns/mixed/1': 5 }, scenarios: {}, controls: {}, fuzz: {}, notRun: [], failures: [{ name: 'x' }] },
  })
})

test('reports of other sources are no part of it', () => {
  expect(() => mergeReports([report(), report({ source: 'b' })])).toThrow('several sources: a, b')
  expect(() => mergeReports([])).toThrow('no report')
})

test('a part is done where it passed on these sources with this seed', () => {
  expect(isDone(report(), 'a', 1)).toBe(true)
  for (const other of [undefined, report({ source: 'b' }), report({ seed: 2 }), report({ failures: [{ name: 'x' }] })])
    expect(isDone(other, 'a', 1)).toBe(false)
})
