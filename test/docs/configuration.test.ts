import { join } from 'node:path'
import { defineType, Holdfast } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { createServer } from 'holdfast/server'
import { expect, test } from 'vitest'
import { variables } from '../../src/cli/environment.js'
import { variableNames } from '../../src/job/variable-names.js'
import { readWorkerOptions } from '../../src/worker/options.js'
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

const nowhere = { connectionString: 'postgres://localhost:1/nothing' }
const takes: Record<string, (options: Record<string, number>) => unknown> = {
  '`new Holdfast(options)`': (options) => new Holdfast({ ...nowhere, ...options }),
  '`defineType(definition)`': (options) => defineType({ type: 'mail', ...options }),
  '`defineType(definition)`: isolation': (options) => defineType({ type: 'mail', isolation: 'thread', ...options }),
  '`limits` of a type': (limits) => defineType({ type: 'mail', limits }),
  '`approval` of a type or a job': (approval) => defineType({ type: 'mail', approval }),
  '`startWorker(holdfast, types, options)`': (options) => readWorkerOptions(options),
  '`reading` of a server': (reading) => createServer(new Holdfast(nowhere), { reading }),
  '`new HoldfastClient(options)`': (options) => new HoldfastClient({ url: 'http://localhost', key: 'k', ...options }),
}

/** Each option that is a number with a range. */
const ranges = page.split('\n### ').flatMap((section) => {
  const title = section.split('\n')[0] as string
  const rows = [...section.matchAll(/^\| `(\w+)` \| `number(?: \\\| null)?` \| [^|]* \| ([\d,]+) to ([\d,]+) \|/gm)]
  const number = (text = '') => Number(text.replaceAll(',', ''))
  return rows.map(([, name = '', low, high]) => ({ title, name, low: number(low), high: number(high) }))
})

test('the ranges of numbers are those that are taken', () => {
  expect(ranges.length).toBeGreaterThan(12)
  for (const { title, name, low, high } of ranges) {
    const take = takes[title]
    if (!take) continue
    const refused = (value: number) =>
      expect(() => take({ [name]: value }), `${title} ${name}: ${value}`).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^invalid_(?:option|configuration)$/) }),
      )
    refused(low - 1)
    refused(high + 1)
    for (const value of [low, high]) take({ [name]: value })
  }
})
