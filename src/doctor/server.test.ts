import { expect, test } from 'vitest'
import { verdictOf } from './doctor.js'
import { finding } from './finding.js'
import { clockFindings, connectionFindings, fleetConnections } from './server.js'
import { holderFindings, usualThresholds } from './tables.js'

const worker = { id: 1, name: 'a', host: 'one', pid: 7, connections: 4, swallowed: false, remote: false }

test('workers of one process share its pool, and remote ones have none', () => {
  const others = [
    { ...worker, id: 2 },
    { ...worker, id: 3, pid: 8 },
    { ...worker, id: 4, host: 'far', connections: null, remote: true },
  ]
  expect(fleetConnections([worker, ...others])).toBe(3 + 4 + 4)
})

test('connections that fit beside those of others are no finding; those that fit alone are a warning', () => {
  const settings = { max_connections: '20', superuser_reserved_connections: '3', reserved_connections: '2' }
  const server = { settings, used: 12, ours: 2, notify_queue: 0, sees_all: true }
  expect(connectionFindings(server, [worker])).toEqual([])
  expect(connectionFindings({ ...server, used: 13 }, [worker])).toMatchObject([{ severity: 'warning' }])
  expect(connectionFindings({ ...server, used: 0, ours: 0 }, [{ ...worker, connections: 15 }])).toMatchObject([
    { severity: 'error', remedy: expect.stringContaining('max_connections to 31') },
  ])
})

test('a clock that is off by more than a second beyond what the way of the question explains is a finding', () => {
  const clocks = { here: 10_000, server: 10_000, ours: 10_000, within: 50 }
  expect(clockFindings(clocks)).toEqual([])
  expect(clockFindings({ ...clocks, here: 11_050 })).toEqual([])
  expect(clockFindings({ ...clocks, here: 13_000 })).toMatchObject([
    { code: 'clock_skew', message: expect.stringContaining('3s ahead of') },
  ])
  expect(clockFindings({ ...clocks, ours: 90_000 })).toMatchObject([{ code: 'clock_replaced', severity: 'error' }])
})

test('a transaction that was prepared and left is found like an open one, and is an error after an hour', () => {
  const left = { kind: 'prepared', name: 'tx-7', who: 'ada', age: 299_000, behind: null, active: false } as const
  expect(holderFindings([left], usualThresholds)).toEqual([])
  expect(holderFindings([{ ...left, age: 300_000 }], usualThresholds)).toMatchObject([
    { code: 'prepared_transaction', severity: 'warning', remedy: expect.stringContaining("commit prepared 'tx-7'") },
  ])
  expect(holderFindings([{ ...left, age: 3_600_000 }], usualThresholds)).toMatchObject([{ severity: 'error' }])
})

test('the verdict is the worst that was found, and notes are fine', () => {
  const one = (severity: 'error' | 'warning' | 'note') => finding(severity, 'a', 'b', [], 'c')
  expect(verdictOf([one('note')])).toBe('fine')
  expect(verdictOf([one('note'), one('warning')])).toBe('warnings')
  expect(verdictOf([one('warning'), one('error')])).toBe('errors')
})
