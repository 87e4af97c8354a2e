import { Holdfast } from 'holdfast'
import { expect, test } from 'vitest'
import { type Declared, exportsOf, namedBy } from '../support/declarations.js'
import { publicNames } from './public-names/index.js'

const entries = Object.keys(publicNames) as (keyof typeof publicNames)[]

test.each(entries)('%s exports what it is meant to, and nothing more', (entry) => {
  const names = exportsOf(entry).map(({ name }) => name)
  expect(names.sort()).toEqual([...publicNames[entry]].sort())
})

const keyOf = ({ name, file }: Declared) => `${file} ${name}`

test.each(entries)('whatever a signature of %s takes or answers can be imported from there, or from holdfast', (entry) => {
  const own = exportsOf(entry)
  const shown = new Set([...own, ...exportsOf('')].map(keyOf))
  const hidden = own.flatMap((one) =>
    namedBy(one)
      .filter((named) => !shown.has(keyOf(named)))
      .map((named) => `${one.name} shows ${named.name}`),
  )
  expect([...new Set(hidden)]).toEqual([])
})

test('the names in a signature are seen: of methods, their bases, and what computes a type', () => {
  const namesOf = (name: string) => {
    const one = exportsOf('').find((found) => found.name === name)
    return namedBy(one as Declared).map((named) => named.name)
  }
  // Those of migrate, of a method of its base, and of what an option is picked from.
  expect(namesOf('Holdfast')).toEqual(expect.arrayContaining(['Migrated', 'Moved', 'EnqueueOptions']))
  expect(namesOf('TypeSettings')).toEqual(expect.arrayContaining(['TypeDefinition', 'Duration']))
  expect(namesOf('defineType')).toEqual(expect.arrayContaining(['JobType', 'TypeDefinition', 'ChunkReturn', 'Snooze']))
})

test('a Holdfast has the properties its page names', () => {
  const holdfast = new Holdfast({ connectionString: 'postgres://localhost:1/nothing' })
  const parts = [
    'access',
    'alerts',
    'batches',
    'bulkActions',
    'deadLetters',
    'errorGroups',
    'events',
    'executions',
    'flow',
    'schedules',
  ]
  expect(Object.keys(holdfast).sort()).toEqual(parts)
})
