import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { expect, test } from 'vitest'
import { filesUnder, repository, sourceFiles } from '../support/source.js'

/**
 * A batch is a group of jobs that is watched as one (docs/batches.md). What a claim, an enqueue or a statement takes has other words: several jobs,
 * a bulk, many at a time. Where a page says batch and means that group, its words stand here.
 */
const allowed = [
  '[`batch/`](batch/batches.ts)',
  // Names of the API, of files and of the bench's rows.
  ...[
    '`batch`',
    '`BatchStoreOptions`',
    '`batches`',
    'batch_id',
    'batch_progress',
    '/batches',
    '.batches',
    '(batches.md)',
    'batches.png',
    'batch.png',
    'holdfast batches',
  ],
  ...['\nbatch workflow\n', 'batch, batch-create, batch-callback, batch-progress', 'performance/batch'],
  // OpenTelemetry's own name, and what pg-boss calls its handlers.
  ...['messaging.batch.message_count', 'batch handlers of 500', 'before that batch is written'],
  // Beside other things that jobs belong to.
  ...[
    'A batch or an execution',
    'a batch or an execution',
    'batch or error group',
    '`batch`',
    '{ batch: id }',
    'those of a batch or',
    'batches and retries those',
    'execution and batch ends',
    'and a batch has one callback',
  ],
  ...[
    'workflows and batches',
    'batches, workflows',
    'batches, smart limits',
    '[batches]',
    '[Batches]',
    '[one batch]',
    'its batch or [workflow]',
  ],
  ...[
    '`enqueueMany`, a batch, over',
    'in a [batch]',
    'a [batch]',
    'an album that is a batch',
    'Every batch that is kept',
    'Where a batch is meant',
  ],
  ...['a batch of 100,000 members', '| batch, round |', 'Batches: fan out'],
]

test('a page says batch of a group of jobs alone', () => {
  const pages = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'UPGRADING.md', join('src', 'README.md')]
  // The page of batches, and the one that is made from the commands, whose sources are looked at below.
  const others = filesUnder(join(repository, 'docs'), '.md').map((path) => relative(repository, path))
  const found = [...pages, ...others.filter((path) => !/batches\.md$|cli\.md$/.test(path))].flatMap((path) => {
    const text = readFileSync(join(repository, path), 'utf8').replaceAll('\r\n', '\n')
    const rest = allowed.reduce((left, words) => left.replaceAll(words, ''), text)
    return [...rest.matchAll(/.{0,40}\bbatch(?!er).{0,40}/gi)].map(([words]) => `${path}: ${words}`)
  })
  expect(found).toEqual([])
})

/** Words that this code once had of its own, and what the glossary has for them. */
const formerWords = 'doz(?:e|es|ed|ing)|scribes?|sayings|sleepers|houses?|tally|tallies|happenings?'
const asWord = new RegExp(
  `(?<![a-z])(?:${formerWords}|(?:a|an|the|its|each|every|no|one) saying|wake-up calls?|(?:lie|lies|lay|lying) down)(?![a-z])`,
  'gi',
)
/** The same inside of a name: `dozeUntil`, `jobTallies`. */
const inName = new RegExp(
  `\\b(?:${formerWords})(?=[A-Z])|(?<=[a-z])(?:${formerWords.replace(/(^|\|)[a-z]/g, (first) => first.toUpperCase())})`,
  'g',
)

test('words that only the authors would understand stand nowhere: idle, log line, supervisor, counts say the same', () => {
  const seen = (text: string) => [asWord, inName].flatMap((words) => [...text.matchAll(words)].map(([word]) => word))
  expect(
    seen('a worker dozes or lies down; dozeUntil, jobTallies, the saying; subscribe, describeJob, totally, saying so'),
  ).toEqual([...['dozes', 'lies down', 'the saying', 'doze', 'Tallies']])
  const folders = ['src', 'docs', 'test', 'chaos', 'bench', 'examples', 'model', 'tools', 'deploy'].map((name) =>
    join(repository, name),
  )
  const sources = folders.flatMap((folder) => filesUnder(folder, '.ts', '.mjs', '.sql', '.md', '.pml'))
  const ours = sources.filter((path) => !path.endsWith(join('docs', 'words.test.ts')) && !path.includes('node_modules'))
  expect(ours.length).toBeGreaterThan(1_000)
  const named = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'UPGRADING.md', 'SECURITY.md']
  const found = [...ours, ...named.map((name) => join(repository, name))].flatMap((path) =>
    seen(readFileSync(path, 'utf8')).map((word) => `${relative(repository, path)}: ${word}`),
  )
  expect(found).toEqual([])
})

/** Files that are about these groups among other things; those whose path has the word are about nothing else. */
const aboutGroups = [
  ...[
    'api/dlq.ts',
    'api/jobs.ts',
    'cli/commands/dead-letters.ts',
    'cli/commands/jobs.ts',
    'cli/examples.ts',
    'cli/operator/database.ts',
    'cli/operator/operator.ts',
    'cli/program.ts',
    'client/client.ts',
    'client/index.ts',
  ],
  ...[
    'dev/demo/demo.ts',
    'dev/demo/traffic.ts',
    'history/list.ts',
    'history/story.ts',
    'holdfast.ts',
    'index.ts',
    'operate/dead-letter-filter.ts',
    'server/app.ts',
  ],
  ...[
    'server/routes/job-answers.ts',
    'server/rules.ts',
    'store/dead-letter-store.ts',
    'store/inspect-store.ts',
    'store/rows.ts',
    'store/store.ts',
  ],
]

test('a file of the code that is not about groups of jobs does not say batch', () => {
  const found = sourceFiles().filter(({ path, text }) => {
    const own = text.replaceAll('messaging.batch.message_count', '')
    return /\bbatch(?!er)/i.test(own) && !/batch(?!er)/.test(path)
  })
  expect(found.map(({ path }) => path.split(sep).join('/')).sort()).toEqual(aboutGroups)
})
