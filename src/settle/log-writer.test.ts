import { expect, test } from 'vitest'
import type { ClaimedJob } from '../job/claimed.js'
import type { LogRow, LogStore } from '../store/log-store.js'
import { LogWriter } from './log-writer.js'

const mostKept = 20_000

/** A store whose first write is answered when the test says so, and everything that was written. */
function slowStore() {
  const written: LogRow[] = []
  let begin = () => {}
  let answers = () => {}
  let fails = (_: Error) => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const answer = new Promise<void>((resolve, reject) => {
    answers = resolve
    fails = reject
  })
  let writes = 0
  const store = {
    async write(rows: readonly LogRow[]) {
      begin()
      if (writes++ === 0) await answer
      written.push(...rows)
    },
  } as unknown as LogStore
  return { store, written, begun, answers, fails }
}

const job = (number: number) => ({ id: `job-${number}`, attempt: 1 }) as unknown as ClaimedJob

test('a result waits for lines that are on their way, however many come after them', async () => {
  const { store, written, begun, answers } = slowStore()
  const logWriter = new LogWriter(store, { asking: () => {}, answered: () => {}, failed: () => {}, gaveUp: () => {} })
  const say = (n: number) => logWriter.note(job(n), { kind: 'line', line: String(n), level: 'info' })
  say(0)
  logWriter.flush([{ job: job(0) }])
  await begun
  for (let n = 1; n <= mostKept; n++) say(n)
  expect(logWriter.flush([{ job: job(0) }])).toBeDefined()
  answers()
  await logWriter.stop(60_000)
  const lines = written.map(({ line }) => line)
  expect(lines).toHaveLength(mostKept + 1)
  expect(lines.slice(0, 3)).toEqual(['0', '2', '3'])
  expect(lines.at(-1)).toMatch(/^1 lines .* were lost/)
})

test('lines whose write failed are written by the next one, in their order', async () => {
  const { store, written, begun, fails } = slowStore()
  const logWriter = new LogWriter(store, { asking: () => {}, answered: () => {}, failed: () => {}, gaveUp: () => {} })
  logWriter.note(job(1), { kind: 'line', line: 'first', level: 'info' })
  logWriter.flush([{ job: job(1) }])
  await begun
  logWriter.note(job(1), { kind: 'line', line: 'second', level: 'info' })
  fails(new Error('the connection was cut'))
  await logWriter.stop(10_000)
  expect(written.map(({ line }) => line)).toEqual(['first', 'second'])
})
