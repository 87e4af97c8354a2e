import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { variables } from '../../src/cli/environment.js'
import { variableNames } from '../../src/job/variable-names.js'
import { cellsOf, configurationRows } from '../support/configuration-rows.js'
import { docsPage } from '../support/docs-page.js'
import { repository, sourceFiles } from '../support/source.js'

const page = docsPage('configuration.md')

test('the page about configuration is what the code says', async () => {
  const { configurationPage } = await import(join(repository, 'tools', 'configuration.mjs'))
  expect(page, 'npm run build && npm run configuration').toBe(await configurationPage())
})

test('the page about the command line is what the code says', async () => {
  const { cliPage } = await import(join(repository, 'tools', 'cli-page.mjs'))
  expect(docsPage('cli.md'), 'npm run build && npm run configuration').toBe(await cliPage())
})

test('every variable that the code reads is on it', () => {
  const named = sourceFiles().flatMap(({ code }) => code.match(/\bHOLDFAST_[A-Z_]+[A-Z]\b/g) ?? [])
  // Of an example.
  const others = ['HOLDFAST_LANE_INTERACTIVE_SLOTS', 'HOLDFAST_LANE_BULK_POLL']
  const known = new Set([...variables.map(({ name }) => name), ...others])
  expect([...new Set(named)].filter((name) => !known.has(name) && !name.startsWith('HOLDFAST_TLS_'))).toEqual([])
})

test('every variable that a misspelt name is compared with is on it, and no other', () => {
  expect(variables.map(({ name }) => name).sort()).toEqual([...variableNames].sort())
})

describe('no cell is left blank', () => {
  const blank = (rows: readonly string[][]) => rows.filter((cells) => cells.some((cell) => cell === '')).map(([name]) => name)
  const options = configurationRows(page)

  test('of an option: its default, or that it is required, and what it is for; of a number or a time its range', () => {
    expect(options.length).toBeGreaterThan(180)
    const unsaid = options.filter(({ otherwise, what, range, isNumber }) => !otherwise || !what || (isNumber && !range))
    expect(unsaid.map(({ section, name }) => `${section} ${name}`)).toEqual([])
  })

  test('of a variable: who reads it, its default, its range and what it is', () => {
    const rows = cellsOf(page.split('\n## The environment\n')[1] as string)
    expect(rows.length).toBe(variables.length)
    expect(blank(rows)).toEqual([])
  })

  test('of an argument or option of a command: its default and what it does; of a number or a time its range', () => {
    const rows = cellsOf(docsPage('cli.md').split('\n## Commands\n')[1] as string)
    expect(rows.length).toBeGreaterThan(250)
    const isNumber = (name = '') => /<(?:n|count|time|share|n\/time|priority|jobs)>/.test(name)
    const needed = rows.map(([name = '', otherwise = '', range = '', what = '']) =>
      isNumber(name) ? [name, otherwise, range, what] : [name, otherwise, what],
    )
    expect(blank(needed)).toEqual([])
  })
})
