import { expect, test } from 'vitest'
import { verdictOf } from './doctor.js'
import { finding } from './finding.js'
import { cleaningFindings, clockFindings, connectionFindings, fleetConnections, wakeUpFindings } from './server.js'
import { holderFindings, usualThresholds } from './tables.js'
import { laneFindings, partitionFindings } from './upkeep.js'

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

const quiet = { settings: {}, used: 1, ours: 1, notify_queue: 0, sees_all: true }

test('a server that removes no dead rows is an error, and a role that sees no other sessions a note', () => {
  expect(cleaningFindings(quiet)).toEqual([])
  const settings = { autovacuum: 'off', track_counts: 'off' }
  expect(cleaningFindings({ ...quiet, settings, sees_all: false })).toMatchObject([
    { code: 'autovacuum_off', severity: 'error', remedy: expect.stringContaining('set autovacuum = on') },
    { code: 'track_counts_off', severity: 'error' },
    { code: 'sessions_unseen', severity: 'note', remedy: expect.stringContaining('pg_read_all_stats') },
  ])
})

test('notifications that do not arrive are told of workers, of who looks, and of a queue that is half full', () => {
  const facts = { hears: true as const, workers: [worker], server: quiet }
  expect(wakeUpFindings(facts)).toEqual([])
  const codes = (found: Partial<Parameters<typeof wakeUpFindings>[0]>) =>
    wakeUpFindings({ ...facts, ...found }).map(({ code }) => code)
  expect(codes({ workers: [{ ...worker, swallowed: true }], hears: 'no notification arrives' })).toEqual([
    'swallowed_wake_ups',
    'swallowed_wake_ups_here',
  ])
  expect(codes({ hears: undefined })).toEqual(['wake_ups_unknown'])
  expect(codes({ server: { ...quiet, notify_queue: 0.49 } })).toEqual([])
  expect(codes({ server: { ...quiet, notify_queue: 0.5 } })).toEqual(['notify_queue_full'])
})

test('days that are missing or stay, and a retention that nobody runs, each say what to do', () => {
  const days = { missing: [], overdue: [], idle: 60_000, unarchived: [] }
  expect(partitionFindings(days, [worker])).toEqual([])
  expect(partitionFindings({ ...days, missing: ['history 2026-03-01'] }, [])).toMatchObject([
    { code: 'missing_partitions', severity: 'warning', evidence: ['history 2026-03-01'] },
  ])
  const overdue = { ...days, overdue: ['history 2026-01-01'] }
  expect(partitionFindings(overdue, [worker])).toMatchObject([
    { code: 'retention_behind', remedy: expect.stringContaining('dlq ls') },
  ])
  expect(partitionFindings({ ...overdue, idle: null }, [])).toMatchObject([{ remedy: expect.stringContaining('start a worker') }])
  expect(partitionFindings({ ...days, idle: 3_600_001 }, [worker])).toMatchObject([{ code: 'retention_idle' }])
  expect(partitionFindings({ ...days, idle: 3_600_001 }, [])).toEqual([])
})

test('a lane with jobs that nobody runs is an error, one that drains a warning, and an empty one of an operator a note', () => {
  const lane = { name: 'mails', enabled: true, types: ['mail'], free: 7, workers: 1 }
  expect(laneFindings([lane])).toEqual([])
  expect(laneFindings([{ ...lane, workers: 0 }])).toMatchObject([{ code: 'unserved_lane', severity: 'error' }])
  expect(laneFindings([{ ...lane, enabled: false }])).toMatchObject([{ code: 'drained_lane', severity: 'warning' }])
  expect(laneFindings([{ ...lane, types: [], free: 0 }])).toMatchObject([{ code: 'unused_lane', severity: 'note' }])
  expect(laneFindings([{ ...lane, name: 'default', types: [], free: 0 }])).toEqual([])
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
