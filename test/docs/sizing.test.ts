import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { typing } from '../support/cli.js'
import { docsPage } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'
import { repository } from '../support/source.js'

const { assumed, sizeOf, sizingTables, withSizing } = await import(
  pathToFileURL(join(repository, 'bench/report/sizing.mjs')).href
)
const page = docsPage('sizing.md')
const { rows } = JSON.parse(readFileSync(join(repository, 'bench/results/latest.json'), 'utf8'))
const figures = { disk: 400, wal: 300, cpu: 20, bulk: 100_000 }

test('the tables of the page are those that the latest results of the bench give', () => {
  expect(withSizing(page, rows)).toBe(page)
  expect(withSizing(page, rows)).not.toBe(
    withSizing(page, [...rows.filter((row: { name: string }) => row.name !== 'disk'), { name: 'disk', holdfast: 1 }]),
  )
})

test('the sums of the page, on round figures', () => {
  // 500 a second of 2 s: 1,000 run, and 1,300 slots are 13 workers of 100. 43.2 million a day of 400 bytes.
  const once = sizeOf(assumed, figures)
  expect(once).toMatchObject({ running: 1_000, workers: 13, servers: 4, connections: 13 * 2 + 4 * 10, jobsOfDay: 43_200_000 })
  expect(once.gigabytesOfDay).toBeCloseTo(17.28)
  expect(once.walOfSecond).toBeCloseTo(0.5)
  expect(once.cores).toBeCloseTo(0.015)
  expect(once.price).toBeCloseTo(13 * 62 + 4 * 30 + 350 + 17.28 * 7 * 0.115 + 100)
  // A larger payload is kept and logged as it is.
  const larger = sizeOf({ ...assumed, payload: 1_200 }, figures)
  expect(larger.gigabytesOfDay - once.gigabytesOfDay).toBeCloseTo(43.2)
})

test('the command of the page answers for another load, and names what is no number', () => {
  const size = (...words: string[]) =>
    execFileSync(process.execPath, ['tools/sizing.mjs', ...words], { cwd: repository, encoding: 'utf8', stdio: 'pipe' })
  expect(size('--rate', '200', '--seconds', '0.5')).toContain('| 1× | 200 |')
  expect(size('--worker', '40', '--database', '500')).not.toBe(size())
  expect(() => size('--rate', 'many')).toThrow('--rate is "many"')
  expect(sizingTables(assumed, figures)).toContain('43.2 million')
})

test('what the page has people type every day and every week is answered', async () => {
  const queue = await makeQueue()
  const type = typing({ DATABASE_URL: queue.url })
  const commands = [...page.matchAll(/`holdfast ([^`]+)`/g)].map(([, words]) => words as string)
  expect(commands).toHaveLength(6)
  for (const words of commands) {
    const { code, err } = await type(words.split(' '))
    // A check-up that finds something does not end with 0; the server of the tests is set as none in production.
    if (words !== 'doctor') expect(code, `holdfast ${words}: ${err}`).toBe(0)
  }
})
