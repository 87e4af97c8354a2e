import { describe, expect, test } from 'vitest'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { check, invariants, violations } from './checker.mjs'
import { emptyHistory } from './history.mjs'

const payload = { call: 1, b: 1, a: 2 }
const ack = { kind: 'acknowledged', call: 1, job: 'j', status: 'created', payload: fingerprint(payload) }
const start = { kind: 'start', at: 10, job: 'j', attempt: 1, fence: '5', pid: 1, payload: fingerprint(payload) }
const finish = { kind: 'finish', at: 20, job: 'j', attempt: 1, fence: '5', pid: 1 }
const effect = { kind: 'effect', job: 'j', attempt: 1, fence: '5', answer: 'accepted' }
const row = {
  id: 'j',
  status: 'completed',
  attempt: 1,
  maxAttempts: 5,
  payload: JSON.stringify(payload),
  key: null,
  type: 'work',
}
const attempt = { job: 'j', attempt: 1, outcome: 'completed' }
const asked = { kind: 'asked', call: 1, count: 1 }

/** One job that was asked for, acknowledged, run and completed; with whatever a test changes about it. */
function story(changes = {}) {
  return {
    ...emptyHistory(),
    entries: [asked, ack, start, effect, finish],
    jobs: [row],
    attempts: [attempt],
    members: [{ group: 'b', task: null, item: null, job: 'j' }],
    counts: [{ status: 'completed', count: 1 }],
    ...changes,
  }
}
const second = { ...start, at: 15, attempt: 2, fence: '9', pid: 2 }
const expired = { job: 'j', attempt: 1, outcome: 'lease_expired' }
const step = { kind: 'step', at: 11, job: 'j', attempt: 1, fence: '5', pid: 1, step: 'step 1' }
const stepped = { ...step, kind: 'stepped', at: 12, value: 'v' }
const signalling = { kind: 'signalling', job: 'j', value: 'a' }
const received = { kind: 'received', job: 'j', attempt: 1, nth: 1, value: 'a' }
const execution = { id: 'e', workflow: 'w', status: 'completed', unread: false }
const task = { execution: 'e', name: 'a', item: -1, status: 'completed', parents: [], sub: false, job: 'j' }
const batch = { id: 'b', status: 'succeeded', round: 1, live: 0, completed: 1, dead: 0, cancelled: 0, discarded: 0 }
const callback = (kind, n) => ({ ...row, id: `c${n}`, payload: JSON.stringify({ callback: kind, batch: 'b' }) })
const inKey = { ...start, ordered: 'o' }
const withKey = (fields) => ({ ...ack, key: 'k', ...fields })

test('a history in which all went well violates nothing', () => {
  expect(violations(story())).toEqual([])
  expect(violations(emptyHistory())).toEqual([])
})

test('every invariant says what it promises and how often it was put to the test', () => {
  for (const { says } of Object.values(invariants)) expect(says).toMatch(/^[a-z].{20,}/)
  expect(check(story()).I1).toEqual({ checked: 1, violations: [] })
  expect(check(story()).I12).toEqual({ checked: 0, violations: [] })
})

describe('a history that violates it is caught by', () => {
  test.each([
    ['I1', 'an acknowledged job that is nowhere', { jobs: [], attempts: [], counts: [] }],
    ['I2', 'a job that never ends', { jobs: [{ ...row, status: 'processing' }], attempts: [] }],
    ['I3', 'a job in two places', { jobs: [row, { ...row, status: 'dead' }] }],
    ['I3', 'a job completed twice', { attempts: [attempt, attempt] }],
    ['I3', 'a job that went on after its end', { attempts: [attempt, { ...attempt, attempt: 2, outcome: 'failed' }] }],
    ['I4', 'a completed job that no handler finished', { entries: [asked, ack, start, effect] }],
    ['I5', 'an execution that nobody recorded', { entries: [asked, ack, start, start, effect, finish] }],
    ['I5', 'a gap in the numbers', { attempts: [{ ...attempt, attempt: 2 }], entries: [asked, ack] }],
    ['I6', 'two executions at once', { entries: [asked, ack, start, second, effect, finish] }],
    ['I6', 'fences that do not grow', { entries: [asked, ack, start, finish, { ...second, fence: '5' }] }],
    ['I6', 'a healthy worker that lost its lease', { attempts: [expired], promises: { undisturbed: true } }],
    ['I7', 'two effects', { entries: [asked, ack, start, effect, effect, finish] }],
    ['I7', 'a stale attempt that counts', { entries: [asked, ack, start, effect, { ...effect, attempt: 2, answer: 'stale' }], attempts: [{ ...attempt, attempt: 2 }] }], // biome-ignore format: one line a case
    ['I8', 'more attempts than allowed', { jobs: [{ ...row, maxAttempts: 1 }], attempts: [expired, attempt] }],
    ['I8', 'poison that was completed', { entries: [asked, { ...ack, ends: 'dead' }, start, effect, finish] }],
    ['I9', 'a job that was rolled back', { entries: [asked, { kind: 'rolled_back', call: 1, jobs: ['j'] }, start] }],
    ['I9', 'a job that nobody asked for', { entries: [ack, start, effect, finish] }],
    ['I9', 'more jobs than were asked for', { jobs: [row, { ...row, id: 'k' }] }],
    ['I9', 'an execution of nothing', { entries: [asked, start], jobs: [] }],
    ['I10', 'two answers to one key', { entries: [asked, withKey({}), withKey({ job: 'k' })] }],
    ['I10', 'two jobs with one key', { jobs: [{ ...row, key: 'k' }, { ...row, id: 'k', key: 'k' }] }], // biome-ignore format: one line a case
    ['I11', 'two at once under a limit of one', { entries: [{ ...start, limits: ['one'] }, { ...start, job: 'k', limits: ['one'] }] }], // biome-ignore format: one line a case
    ['I10', 'two jobs of a unique key at once', { entries: [{ ...start, unique: 'u' }, { ...start, job: 'k', unique: 'u' }] }], // biome-ignore format: one line a case
    ['I10', 'a unique key that was free too early', { entries: [{ ...asked, at: 1 }, { ...ack, at: 2, unique: 'u' }, start, { ...asked, at: 11, call: 2 }, { ...ack, at: 12, call: 2, job: 'k', unique: 'u' }, effect, finish] }], // biome-ignore format: one line a case
    ['I10', 'a unique key that is never free', { entries: [{ ...asked, at: 1 }, { ...ack, at: 2, unique: 'u' }, { kind: 'ended', at: 3, job: 'j' }, { ...asked, at: 4, call: 2 }, { kind: 'refused', at: 5, call: 2, unique: 'u' }] }], // biome-ignore format: one line a case
    ['I11', 'more starts than a rate allows', { entries: [0, 1, 2].map((at) => ({ ...start, at, job: String(at), limits: ['r'] })), promises: { rates: { r: { count: 2, perMs: 100 } } } }], // biome-ignore format: one line a case
    ['I12', 'two jobs of one tick', { ticks: [{ schedule: 's', tick: 1, job: 'j' }, { schedule: 's', tick: 1, job: 'k' }] }], // biome-ignore format: one line a case
    ['I12', 'a tick without a job', { ticks: [0, 1_000, 3_000].map((tick) => ({ schedule: 's', tick, job: 'j' })), promises: { schedules: { s: { everyMs: 1_000 } } } }], // biome-ignore format: one line a case
    ['I12', 'a tick whose job was never stored', { ticks: [{ schedule: 's', tick: 1, job: 'k' }] }],
    ['I12', 'a tick that is fired before its time', { hurriedTicks: [{ schedule: 's', tick: 1, earlyMs: 1 }] }],
    ['I12', 'a tick that is fired by another clock than the one that was set', { hurriedTicks: [{ schedule: 's', tick: 1, earlyMs: 7_200_000 }], promises: { clockIsSet: true } }], // biome-ignore format: one line a case
    ['I12', 'a schedule that makes no job at all', { promises: { schedules: { s: { everyMs: 1_000 } } } }],
    [
      'I13',
      'a cancelled job that was completed',
      { entries: [{ kind: 'cancelled', job: 'j', done: true, answer: 'cancelled' }] },
    ],
    [
      'I14',
      'a fleet that stands still',
      {
        entries: [
          { kind: 'healed', at: 0, fault: 'f' },
          { ...start, at: 31_000 },
        ],
      },
    ],
    ['I14', 'a worker that hears nothing', { entries: [{ kind: 'pickup', ms: 2000 }], promises: { pickupWithinMs: 500 } }],
    ['I15', 'a start before its time', { entries: [asked, { ...ack, notBefore: 11 }, start] }],
    ['I15', 'a retry without its pause', { entries: [asked, { ...ack, backoffMs: 200 }, start, { ...finish, kind: 'threw', at: 14 }, second] }], // biome-ignore format: one line a case
    ['I16', 'a payload that changed on the way', { entries: [asked, ack, { ...start, payload: 'other' }] }],
    ['I16', 'a payload that changed at rest', { jobs: [{ ...row, payload: '{"call":1,"a":2,"b":1}' }] }],
    ['I17', 'an act that is not in the log', { entries: [{ kind: 'acted', action: 'replay', job: 'j', actor: 'ada' }] }],
    ['I18', 'a deadlock', { sessions: { ...emptyHistory().sessions, deadlocks: 1 } }],
    ['I18', 'a connection that stays', { sessions: { ...emptyHistory().sessions, leaked: ['holdfast'] } }],
    ['I18', 'a transaction that stays open', { sessions: { ...emptyHistory().sessions, idleInTransaction: ['holdfast'] } }],
    ['I18', 'a lock that stays', { sessions: { ...emptyHistory().sessions, locks: ['advisory'] } }],
    ['I18', 'a slot that stays', { slots: [{ of: 'type', job: 'j' }] }],
    ['I19', 'a count that lies', { counts: [{ status: 'completed', count: 2 }] }],
    ['I20', 'a finished step that runs again', { entries: [start, step, stepped, { ...step, at: 13, attempt: 2, fence: '9' }] }],
    ['I20', 'a step with two results', { entries: [start, step, stepped, { ...stepped, at: 13, attempt: 2, fence: '9', value: 'other' }] }], // biome-ignore format: one line a case
    [
      'I20',
      'a step that is written by an attempt that was given up',
      { entries: [start, { ...second, at: 10.5 }, step, stepped] },
    ],
    ['I20', 'a step that is left out', { entries: [{ ...start, steps: 2 }, step, stepped, finish] }],
    ['I20', 'a sleep that was too short', { entries: [{ kind: 'sleeping', at: 1, job: 'j', ms: 100 }, { kind: 'woke', at: 50, job: 'j' }] }], // biome-ignore format: one line a case
    ['I20', 'a signal that was delivered twice', { entries: [signalling, received, { ...received, nth: 2 }] }],
    ['I20', 'a signal that nobody sent', { entries: [received] }],
    ['I20', 'a wait that got another signal the next time', { entries: [signalling, { ...signalling, value: 'b' }, received, { ...received, value: 'b' }] }], // biome-ignore format: one line a case
    [
      'I22',
      'two jobs of an ordered key at once',
      { entries: [ack, { ...ack, job: 'k' }, inKey, { ...inKey, job: 'k' }, finish] },
    ],
    ['I22', 'a job of an ordered key before an earlier one', { entries: [ack, { ...ack, job: 'k' }, { ...inKey, job: 'k' }, { ...finish, job: 'k' }, inKey, finish] }], // biome-ignore format: one line a case
    ['I21', 'an execution that is lost', { entries: [{ kind: 'begun', execution: 'e' }] }],
    ['I21', 'an execution that never ends', { executions: [{ ...execution, status: 'running' }] }],
    ['I21', 'a task that is never started', { executions: [execution], tasks: [{ ...task, status: 'blocked', job: 'k' }] }],
    ['I21', 'an execution that hides a failure', { executions: [execution], tasks: [{ ...task, status: 'dead' }] }],
    ['I21', 'a task with two jobs', { members: ['j', 'k'].map((job) => ({ group: 'e', task: 'a', item: null, job })) }],
    ['I21', 'a task that started before its parent had ended', { tasks: [task, { ...task, name: 'b', parents: ['a'], job: 'k' }], entries: [start, { ...start, job: 'k', at: 15 }, finish] }], // biome-ignore format: one line a case
    ['I21', 'a batch that is lost', { entries: [{ kind: 'batched', batch: 'b' }] }],
    ['I21', 'a batch that never ends', { batches: [{ ...batch, status: 'running', live: 1 }] }],
    ['I21', 'a batch that counts wrong', { batches: [{ ...batch, completed: 2 }] }],
    ['I21', 'a batch with two callbacks of a kind', { batches: [batch], jobs: [row, ...['success', 'complete', 'complete'].map(callback)] }], // biome-ignore format: one line a case
    ['I21', 'a batch without a callback that is due', { batches: [batch], jobs: [row, callback('success', 0)] }],
    ['I21', 'a retried batch without another round', { batches: [batch], entries: [{ kind: 'retried', batch: 'b' }] }],
    ['I21', 'a second round without its callbacks', { batches: [{ ...batch, round: 2 }], jobs: [row, ...['success', 'failure', 'complete'].map(callback)] }], // biome-ignore format: one line a case
    ['I21', 'a callback before the last member', { batches: [batch], jobs: [row, ...['success', 'complete'].map(callback)], entries: [start, { ...start, job: 'c0', at: 15 }, finish] }], // biome-ignore format: one line a case
  ])('%s: %s', (name, _, changes) => {
    expect(check(story(changes))[name].violations).not.toEqual([])
  })
})

test('every invariant has a history that violates it', () => {
  // A new invariant needs its row above; this list is what says so.
  expect(Object.keys(invariants)).toEqual(Array.from({ length: 22 }, (_, n) => `I${n + 1}`))
})

describe('what faults make happen and the promise allows is no violation:', () => {
  test('an execution beside one whose lease had run out', () => {
    const entries = [
      asked,
      ack,
      start,
      second,
      { ...effect, attempt: 2, fence: '9' },
      { ...finish, attempt: 2, fence: '9', pid: 2 },
    ]
    const attempts = [expired, { ...attempt, attempt: 2 }]
    expect(violations(story({ entries, attempts }))).toEqual([])
  })

  test('an execution after the process of the first one was killed', () => {
    const entries = [asked, ack, start, { kind: 'killed', pid: 1 }, second]
    expect(check(story({ entries, attempts: [expired, { ...attempt, attempt: 2 }] })).I6.violations).toEqual([])
  })

  test('a retry at once after the lease of an attempt had run out, whatever its handler did then', () => {
    const entries = [asked, { ...ack, backoffMs: 200 }, start, { ...finish, kind: 'threw', at: 14 }, second]
    expect(check(story({ entries, attempts: [expired, { ...attempt, attempt: 2 }] })).I15.violations).toEqual([])
  })

  test('a step that is called by an attempt whose lease had run out, after its successor had finished it', () => {
    const [done, late] = [
      { ...stepped, attempt: 2, fence: '9' },
      { ...step, at: 13 },
    ]
    const entries = [start, { ...second, at: 10.5 }, { ...step, attempt: 2, fence: '9' }, done, late]
    expect(check(story({ entries })).I20.violations).toEqual([])
    // Nobody may tell it that its result was kept.
    expect(check(story({ entries: [...entries, { ...stepped, at: 14 }] })).I20.violations).not.toEqual([])
  })

  test('a job that was replayed and began with its first attempt again, under a greater fence', () => {
    const again = { ...start, fence: '900', at: 900 }
    const reviving = { kind: 'reviving', job: 'j', at: 800 }
    const entries = [asked, ack, start, { ...finish, kind: 'threw' }, { ...second, at: 500, fence: '500' }, reviving, again]
    const growing = (list) => check(story({ entries: list })).I6.violations.filter((text) => text.includes('do not grow'))
    expect(growing(entries)).toEqual([])
    expect(growing(entries.filter(({ kind }) => kind !== 'reviving'))).toHaveLength(1)
  })

  test('a job that was replayed and spent its attempts twice', () => {
    const [reviving, failed] = [
      { kind: 'reviving', job: 'j' },
      { ...attempt, outcome: 'failed' },
    ]
    const changes = { jobs: [{ ...row, maxAttempts: 1 }], attempts: [failed, attempt] }
    expect(check(story({ ...changes, entries: [asked, ack, start, reviving, start] })).I8.violations).toEqual([])
    expect(check(story(changes)).I8.violations).not.toEqual([])
  })

  test('a job of a call that failed and was committed all the same', () => {
    const entries = [asked, { kind: 'in_doubt', call: 1 }, start, effect, finish]
    expect(violations(story({ entries }))).toEqual([])
  })

  test('one more at once than a limit allows, beside an execution that lost its lease', () => {
    const entries = [asked, ack, { ...start, limits: ['one'] }, { ...second, limits: ['one'] }]
    const attempts = [expired, { ...attempt, attempt: 2 }]
    expect(check(story({ entries, attempts })).I11).toEqual({ checked: 1, violations: [] })
  })

  test('a job that had ended before its cancel', () => {
    const entries = [asked, ack, start, effect, finish, { kind: 'cancelled', job: 'j', done: false, answer: 'completed' }]
    expect(violations(story({ entries }))).toEqual([])
  })

  test('a finished job whose day was dropped', () => {
    expect(violations(story({ jobs: [], attempts: [], counts: [], promises: { pruned: ['j'] } }))).toEqual([])
  })
})
