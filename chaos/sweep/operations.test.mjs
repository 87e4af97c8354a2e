import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { operations } from './operations.mjs'

const store = new URL('../../src/store/', import.meta.url)
const read = (path) => readFileSync(new URL(path, store), 'utf8')

/** The statements of long, repeated and composite work that change something, and the operation of the sweep that breaks each. */
const breaks = {
  saveStep: 'step',
  waitStep: 'wait-for-signal',
  sendSignal: 'signal',
  createBatch: 'batch-create',
  joinBatch: 'batch-add',
  closeBatch: 'batch-close',
  cancelBatch: 'batch-cancel',
  cancelOn: 'batch-cancel',
  auditBatch: 'batch-retry',
  registerWorkflow: 'start-execution',
  startExecution: 'start-execution',
  cancelExecution: 'execution-cancel',
  resumeExecution: 'execution-resume',
  advanceGroups: 'advance-execution',
  dueSchedules: 'schedule-fire',
  fireSchedule: 'schedule-fire',
  defineSchedules: 'schedule-define',
  createSchedule: 'schedule-create',
  changeSchedule: 'schedule-change',
  resetSchedule: 'schedule-reset',
  pauseSchedule: 'schedule-pause',
  resumeSchedule: 'schedule-resume',
  runSchedule: 'schedule-run-now',
  backfillSchedule: 'schedule-backfill',
  removeSchedule: 'schedule-remove',
  pruneSchedules: 'schedule-prune',
}
/** What is lost with these is tried again by the clock, and nobody was told that it is done. */
const byTheClock = ['putOffSchedule', 'forgetTicks']

/** The functions that promise to change nothing. */
const harmless = new Set(
  readdirSync(new URL('functions/', store), { recursive: true })
    .filter((file) => file.endsWith('.sql'))
    .flatMap((file) =>
      [
        ...read(`functions/${file}`).matchAll(
          /create or replace function holdfast\.(\w+)\([^$]*?\b(stable|immutable)\b[^$]*?as \$\$/g,
        ),
      ].map(([, name]) => name),
    ),
)
const changes = (text) =>
  [...text.matchAll(/holdfast\.(\w+)\(/g)].some(([, name]) => !harmless.has(name) && name !== 'now') ||
  /\b(insert|update|delete)\b/.test(text)

test('the sweep breaks every statement of steps, batches, executions and schedules that changes something', () => {
  const statements = ['steps', 'batches', 'executions', 'groups', 'schedules'].flatMap((file) =>
    read(`queries/${file}.sql`)
      .split(/^-- name: /m)
      .slice(1)
      .map((text) => ({ name: text.split('\n')[0], changes: changes(text.replaceAll(/^--.*$/gm, '')) })),
  )
  const changing = statements.filter(({ changes }) => changes).map(({ name }) => name)
  expect(changing.filter((name) => !byTheClock.includes(name)).sort()).toEqual(Object.keys(breaks).sort())
  const names = operations.map(({ name }) => name)
  expect(Object.values(breaks).filter((name) => !names.includes(name))).toEqual([])
  expect(names).toHaveLength(new Set(names).size)
})
