import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { Holdfast } from 'holdfast'
import { expect, test } from 'vitest'
import { filesUnder, repository } from '../support/source.js'
import { publicNames } from './public-names.js'

const dist = join(repository, 'dist')
const declared = (file: string) => readFileSync(join(dist, file), 'utf8')

/** The names an entry exports, in the order of the alphabet. */
function exportsOf(entry: string): string[] {
  const lists = [...declared(entry).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map((found) => found[1] as string)
  const names = lists.flatMap((list) => list.split(',').map((name) => name.trim().replace(/^type /, '')))
  return names.filter((name) => name !== '').sort()
}

test.each(Object.keys(publicNames) as (keyof typeof publicNames)[])(
  '%s exports what it is meant to, and nothing more',
  (entry) => {
    expect(exportsOf(`${entry}index.d.ts`)).toEqual([...publicNames[entry]].sort())
  },
)

/** Every class that is declared, with what its members name of other files. */
const classes = filesUnder(dist, '.d.ts').flatMap((path) => {
  const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  const imports = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']*)'/gm)].flatMap(([, names = '', from = '']) =>
    names.split(',').map((name) => ({
      name: name.trim().replace(/^type /, ''),
      file: relative(dist, join(dirname(path), from)),
    })),
  )
  return [...text.matchAll(/^export declare class (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)].map(([, name = '', body = '']) => ({
    name,
    uses: imports.filter((one) => new RegExp(`\\b${one.name}\\b`).test(body)),
  }))
})

const ofUsers = ['CallerTransaction', 'Migrated']

test('no public class shows a part of the inside', () => {
  const shown = new Set(Object.values(publicNames).flat() as string[])
  const known = classes.filter(({ name }) => shown.has(name))
  expect(known.map(({ name }) => name)).toEqual(expect.arrayContaining(['Holdfast', 'Alerts', 'HoldfastClient', 'Worker']))
  const inner = /^(?:store|claim|run|settle|inside|enqueue\/(?:registry|batcher|backpressure|encrypt)|privacy\/privacy|metrics)\b/
  const leaks = known.flatMap(({ name, uses }) =>
    uses.filter((one) => inner.test(one.file) && !ofUsers.includes(one.name)).map((one) => `${name} shows ${one.name}`),
  )
  expect(leaks).toEqual([])
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
