import { expect, test } from 'vitest'
import type { JobPage } from '../history/list.js'
import { mergePages, readCursor } from './pages.js'

const id = (second: number) => `01890000-00${String(second).padStart(2, '0')}-7000-8000-0000000000aa`
const page = (seconds: number[], next: number | null): JobPage => ({
  jobs: seconds.map((second) => ({ id: id(second) }) as JobPage['jobs'][number]),
  next: next === null ? null : id(next),
  lookedBackTo: next === null ? null : new Date(next * 1_000),
})
const names = ['eu', 'us']
const cursorOf = (text: string | null) => readCursor(text ?? undefined, names)

test('what is older than the shortest look waits for a later page, so that the list stays in order', () => {
  const merged = mergePages(new Map([['eu', page([50, 10], null)], ['us', page([40], 30)]]), cursorOf(null), 20) // biome-ignore format: one line
  expect(merged.jobs.map((job) => job.id)).toEqual([`eu:${id(50)}`, `us:${id(40)}`])
  expect(cursorOf(merged.next)).toEqual({ eu: id(50), us: id(30) })
  expect(merged.lookedBackTo).toEqual(new Date(30_000))
})

test('a page that is full goes on in each member after its last job, and ends where all have ended', () => {
  const merged = mergePages(new Map([['eu', page([50, 20], null)], ['us', page([40, 30], null)]]), cursorOf(null), 2) // biome-ignore format: one line
  expect(cursorOf(merged.next)).toEqual({ eu: id(50), us: id(40) })
  const last = mergePages(new Map([['eu', page([20], null)], ['us', page([30], null)]]), cursorOf(merged.next), 2) // biome-ignore format: one line
  expect([last.jobs.length, last.next]).toEqual([2, null])
})

test('a member that did not answer keeps its place, and a list goes on only while one that answered does', () => {
  const from = { eu: id(50), us: id(40) }
  const going = mergePages(new Map([['eu', page([20], 10)]]), from, 20)
  expect(cursorOf(going.next)).toEqual({ eu: id(10), us: id(40) })
  expect(mergePages(new Map([['eu', page([5], null)]]), from, 20).next).toBeNull()
})
