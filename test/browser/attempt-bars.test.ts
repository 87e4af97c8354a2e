import { expect, test } from 'vitest'
import { rowsOf } from '../../dashboard/src/pages/job/bars.js'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const now = Date.parse(at(100))

type Attempt = [outcome: string, from: number | null, to: number, error?: object]
function job(status: string, attempts: readonly Attempt[], more: object = {}) {
  const told = attempts.map(([outcome, from, to, error = null], index) => ({
    ...{
      attempt: index + 1,
      outcome,
      started_at: from === null ? null : at(from),
      ended_at: at(to),
      worker: 'w',
      build: null,
      error,
    },
  }))
  return { status, attempt: told.length, created_at: at(0), due_at: null, started_at: null, attempts: told, ...more } as never
}
const barsOf = (one: never) =>
  rowsOf(one, now).map(({ bars }) =>
    bars.map(({ kind, from, to }) => `${kind} ${(from - Date.parse(at(0))) / 1_000}–${(to - Date.parse(at(0))) / 1_000}`),
  )

test('a job waits for its first attempt, runs, backs off after a failure, and runs again', () => {
  expect(
    barsOf(
      job('completed', [
        ['failed', 5, 6],
        ['completed', 16, 20],
      ]),
    ),
  ).toEqual([
    ['wait 0–5', 'run 5–6'],
    ['backoff 6–16', 'run 16–20'],
  ])
})

test('what was put off or handed back waits, and did not fail', () => {
  expect(
    barsOf(
      job('completed', [
        ['snoozed', 1, 2],
        ['handed_back', 10, 11],
        ['completed', 12, 13],
      ]),
    ),
  ).toEqual([
    ['wait 0–1', 'run 1–2'],
    ['wait 2–10', 'run 10–11'],
    ['wait 11–12', 'run 12–13'],
  ])
})

test('a job that runs now runs until now, one that is to be tried again backs off until it is due, and one that is late until now', () => {
  expect(barsOf(job('processing', [['failed', 5, 6]], { started_at: at(40), attempt: 2 }))).toEqual([
    ['wait 0–5', 'run 5–6'],
    ['backoff 6–40', 'run 40–100'],
  ])
  expect(barsOf(job('failed', [['failed', 5, 6]], { due_at: at(130) }))[1]).toEqual(['backoff 6–130'])
  expect(barsOf(job('pending', [], { due_at: at(0) }))).toEqual([['wait 0–100']])
})

test('the error of an attempt is said in a line, and times that are none are no bars', () => {
  const failed = job('dead', [['failed', 1, 2, { name: 'Error', message: 'no ink', stack: 'a\nb' }]])
  expect(rowsOf(failed, now)[0]).toMatchObject({ error: 'Error: no ink', outcome: 'failed', worker: 'w' })
  const hostile = { created_at: '<b>', attempts: [{ outcome: 'failed', started_at: 'x', ended_at: 'y' }] }
  expect(rowsOf(job('dead', [], hostile), now)).toEqual([])
})
