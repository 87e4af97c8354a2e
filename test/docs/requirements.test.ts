/** docs/requirements.md names a test for each requirement, and the test is there. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { docsPage } from '../support/docs-page.js'
import { repository } from '../support/source.js'

const rows = [...docsPage('requirements.md').matchAll(/^\| ([A-Z]\d+) \| ([^|]+) \| ([^|]+) \| (.+) \|$/gm)].map(
  ([, id, text, from, shown]) => ({
    ...{ id: id as string, text: text as string, from: from as string },
    shown: (shown as string).split('<br>'),
  }),
)
const ids = { E: 12, C: 13, R: 15, D: 4, W: 5, S: 9, A: 5, O: 11 }

test('every requirement is there once, with where it comes from and what shows it', () => {
  const all = Object.entries(ids).flatMap(([letter, last]) => Array.from({ length: last }, (_, at) => `${letter}${at + 1}`))
  expect(rows.map(({ id }) => id)).toEqual(all)
  for (const { id, from, shown } of rows) {
    expect(from.trim(), id).not.toBe('')
    expect(shown.length, id).toBeGreaterThan(0)
  }
})

test('each test that it names is in the file that it names; what has none says that it is not there', () => {
  const lost = rows.flatMap(({ id, shown }) =>
    shown.flatMap((one) => {
      if (/^\*\*.*\bnot\b.*\*\*$/.test(one)) return []
      const [, file = '', name = ''] = /^\[.*?\]\(\.\.\/(.*?)\): (.+)$/.exec(one) ?? []
      const path = join(repository, file)
      return file !== '' && existsSync(path) && readFileSync(path, 'utf8').includes(name) ? [] : [`${id}: ${one}`]
    }),
  )
  expect(lost).toEqual([])
})
