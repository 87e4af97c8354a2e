import { readFile } from 'node:fs/promises'
import { errorTable } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { isFinal, type JobStatus, moves, statuses } from '../../src/job/state.js'

const read = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8')

describe('docs/job-states.md', () => {
  test('names every status with its meaning, and no other', async () => {
    const rows = [...(await read('job-states.md')).matchAll(/^\| `(\w+)` +\| (.*?) +\|$/gm)].map(([, status, meaning]) => [
      status,
      meaning,
    ])
    expect(rows).toEqual(Object.entries(statuses))
  })

  test('draws every move of job/state.ts, and no other', async () => {
    const arrows = [...(await read('job-states.md')).matchAll(/^ {2}(\S+) --> (\w+): (\w+)$/gm)].map(([, from, to, by]) => ({
      from: from === '[*]' ? null : from,
      to,
      by,
    }))
    expect(arrows).toEqual(moves)
    const ends = [...(await read('job-states.md')).matchAll(/^ {2}(\w+) --> \[\*\]$/gm)].map(([, status]) => status)
    expect(ends).toEqual((Object.keys(statuses) as JobStatus[]).filter(isFinal))
  })
})

describe('docs/errors.md', () => {
  test('has a section for every error code, in the order of the table, and no other', async () => {
    const headings = [...(await read('errors.md')).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(Object.keys(errorTable))
  })

  test('says of each what the table says: title, HTTP status, and whether trying again can help', async () => {
    const sections = new Map((await read('errors.md')).split(/^## /m).map((section) => [section.split('\n')[0], section]))
    for (const [code, { title, status, retryable }] of Object.entries(errorTable)) {
      const facts = `_${title}._ HTTP ${status}; ${retryable ? 'the same call may succeed later' : 'the same call fails again'}.`
      expect(sections.get(code), code).toContain(facts)
    }
  })
})
