import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compareReleases } from '../../src/store/functions.js'
import { sqlFiles } from '../../src/store/sql-files.js'

const root = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

/** The release that is being written, or else the last one. */
const [, release = JSON.parse(read('package.json')).version] = /^## (\S+) \(not released\)$/m.exec(read('CHANGELOG.md')) ?? []

/** What is wrong with the files of functions: each has one definition, and one for older releases says until when. */
function problems(files: ReadonlyMap<string, string>, writing = release): string[] {
  const found: string[] = []
  const homes = new Map<string, string>()
  for (const [file, sql] of files) {
    const code = sql.replaceAll(/--.*$/gm, '')
    for (const [, kind, name = ''] of code.matchAll(/\bcreate\s+(?:or\s+replace\s+)?(function|view)\s+holdfast\.(\w+)/gi)) {
      const home = homes.get(name)
      if (home !== undefined) found.push(`${file} creates the ${kind} ${name}, and so does ${home}`)
      homes.set(name, file)
    }
    if (!file.startsWith('compat/')) continue
    const [, until] = /^-- Until (\d+\.\d+\.\d+): \S/.exec(sql) ?? []
    if (until === undefined) found.push(`${file} does not begin with the release that drops it: "-- Until 0.5.0: why"`)
    else if (compareReleases(until, writing) <= 0)
      found.push(`${file} was kept until ${until}, and this is ${writing}: delete it`)
  }
  return found
}

const current = new Map([...sqlFiles('schema'), ...sqlFiles('functions')])

test('every function and view has one definition, and each that only older releases call says which release drops it', () => {
  expect(problems(current)).toEqual([])
})

const old = 'create or replace function holdfast.claim_jobs_of_old() returns integer language sql as $$ select 1 $$;\n'

test.each([
  ['a release that is yet to come', 'compat/claim.sql', `-- Until 2.0.0: workers of 1.0 claim with it.\n${old}`, []],
  [
    'the release that is being written',
    'compat/claim.sql',
    `-- Until 1.1.0: a\n${old}`,
    [/^compat\/claim.sql was kept until 1.1.0/],
  ],
  ['a release that is over', 'compat/claim.sql', `-- Until 1.0.9: a\n${old}`, [/delete it$/]],
  [
    'no release',
    'compat/claim.sql',
    `-- Workers of 1.0 claim with it.\n${old}`,
    [/^compat\/claim.sql does not begin with the release/],
  ],
  ['no reason', 'compat/claim.sql', `-- Until 2.0.0\n${old}`, [/^compat\/claim.sql does not begin with the release/]],
])('one that is kept until %s', (_, file, sql, expected) => {
  expect(problems(new Map([...current, [file, sql]]), '1.1.0')).toEqual(expected.map((one) => expect.stringMatching(one)))
})

test.each([
  [
    'beside the current one',
    'compat/claim.sql',
    `-- Until 99.0.0: a\n${old.replace('_of_old', '')}`,
    /^compat\/claim.sql creates the function claim_jobs, and so does claim.sql$/,
  ],
  [
    'with other arguments',
    'zoo.sql',
    'create function holdfast.enqueue(integer) returns void language sql as $$ $$;',
    /^zoo.sql creates the function enqueue, and so does sql_enqueue.sql$/,
  ],
  ['as a view', 'zoo.sql', 'create view holdfast.jobs as select 1;', /^zoo.sql creates the view jobs, and so does views.sql$/],
])('a second definition %s is found', (_, file, sql, expected) => {
  expect(problems(new Map([...current, [file, sql]]))).toEqual([expect.stringMatching(expected)])
})
