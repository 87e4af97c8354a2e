import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { repository } from '../support/source.js'
import { publicNames } from './public-names/index.js'

interface Declaration {
  name: string
  /** The JSDoc comment above it; empty: it has none. */
  comment: string
  /** Its members, of a class or an interface. */
  body: string
}

const comments = String.raw`(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\s*)?`

const inFile = (file: string, from: string) => join(dirname(file), from.replace(/\.js$/, '.d.ts'))

/** What a declaration file exports under that name, in it or in the file it takes it from. */
function declarationOf(name: string, file: string): Declaration {
  const text = readFileSync(file, 'utf8')
  for (const [, names = '', from = ''] of text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm)) {
    if (names.split(',').some((one) => one.trim().replace(/^type /, '') === name)) {
      return declarationOf(name, inFile(file, from))
    }
  }
  const shape = String.raw`^${comments}export (?:declare )?(?:abstract )?(class|interface|type|function|const) ${name}\b`
  const found = new RegExp(shape, 'm').exec(text)
  if (!found) throw new Error(`${file} does not declare ${name}`)
  const [all, comment = '', kind = ''] = found
  const [, above, body = ''] = /^(?: extends (\w+))?[^\n;]*\{\n([\s\S]*?)\n\}/.exec(text.slice(found.index + all.length)) ?? []
  const [, from = ''] = new RegExp(`import (?:type )?\\{[^}]*\\b${above}\\b[^}]*\\} from '(\\.[^']+)'`).exec(text) ?? []
  const inherited = kind === 'class' && from !== '' ? declarationOf(above as string, inFile(file, from)).body : ''
  return { name, comment, body: ['class', 'interface'].includes(kind) ? `${inherited}\n${body}` : '' }
}

const declarations = Object.entries(publicNames).flatMap(([entry, names]) =>
  names.map((name) => declarationOf(name, join(repository, 'dist', entry, 'index.d.ts'))),
)

/** The members of a declaration that fit, each with the comment above it. */
function membersOf({ name, body }: Declaration, shape: string): { name: string; comment: string }[] {
  const found = [...body.matchAll(new RegExp(`^    ${comments}${shape}`, 'gm'))]
  return found.map(([, comment = '', member = '']) => ({ name: `${name}.${member}`, comment }))
}

/** The second declaration of a method that can be called in two ways needs no comment of its own. */
const firstOfEach = <One extends { name: string }>(all: One[]) => [
  ...new Map(all.reverse().map((one) => [one.name, one])).values(),
]

// What an object of another library has (`KnexLike`) is explained there.
const methods = firstOfEach(
  declarations
    .filter(({ name }) => !name.endsWith('Like'))
    .flatMap((one) => membersOf(one, String.raw`(?:static |abstract |get )*(?!private|constructor)(\w+)[<(]`)),
)
const options = declarations
  .filter(({ name }) => /Options?$|^(?:TypeDefinition|Limits|Expectation|KeyFields|LaneFields|RuleFields)$/.test(name))
  .flatMap((one) => membersOf(one, String.raw`(?:readonly )?(\w+)\?:`))

test('everything that is exported says what it is: declarations, methods and options', () => {
  expect(methods.map(({ name }) => name)).toEqual(expect.arrayContaining(['Holdfast.enqueue', 'Flow.gate', 'Worker.stop']))
  expect(options.map(({ name }) => name)).toEqual(expect.arrayContaining(['WorkerOptions.lease', 'TypeDefinition.timeout']))
  const silent = [...declarations, ...methods, ...options].filter(({ comment }) => comment === '')
  expect(silent.map(({ name }) => name)).toEqual([])
})

/** What is simply not there, or not done, where it is left out. */
test('a default stands under @default, where editors look for it', () => {
  const elsewhere = options.filter(({ comment }) => /\b(?:default|standard):|left out/i.test(comment))
  expect(elsewhere.map(({ name }) => name)).toEqual([])
  const unsaid = options.filter(({ comment }) => !comment.includes('@default')).map(({ name }) => name)
  expect(unsaid).toEqual([])
})

test('a definition that says nothing has the defaults that stand there', () => {
  const { lane, priority, maxAttempts, maxResultBytes, sensitive, sharedKeys, encrypt, ...made } = defineType({ type: 'any' })
  const keys = { lane, priority, maxAttempts, maxResultBytes, sensitive, sharedKeys, encrypt, isolation: made.isolation.kind }
  const said = Object.keys(keys).map((key) => {
    const { comment = '' } =
      options.find(({ name }) => name === `TypeDefinition.${key}` || name === `IsolationOptions.${key}`) ?? {}
    return [key, /@default '?([^'\n]*)/.exec(comment)?.[1]?.replace('_', '')]
  })
  expect(Object.fromEntries(said)).toEqual(Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, String(value)])))
})

/** The code of each @example, by what it is an example of. */
const examples = new Map(
  [...declarations, ...methods].flatMap(({ name, comment }) => {
    const lines = /@example\n([\s\S]*?)(?:\n\s*\* @|\n?\s*\*\/)/.exec(comment)?.[1]?.split('\n') ?? []
    const code = lines.map((line) => line.replace(/^\s*\* ?/, ''))
    return code.length > 0 ? [[name, code.join('\n')] as const] : []
  }),
)

/** What the examples take to be there already; one that makes its own hides these. */
const around = `import type { Holdfast, Holdfasts, JobType, Workflow } from 'holdfast'
declare global {
  const holdfast: Holdfast
  const holdfasts: Holdfasts
  const sendEmail: JobType<{ to: string }, { to: string }, { message: string }>
  const order: Workflow<{ cart: string; total: number }, { parcel: string }>
}
`

test('what is used most has an example, and the compiler takes each as it stands', async () => {
  expect([...examples.keys()].sort()).toEqual([
    'DeadLetters.replayMany',
    'Events.follow',
    'Events.page',
    'Executions.wait',
    'Holdfast',
    'Holdfast.batch',
    'Holdfast.bulk',
    'Holdfast.bury',
    'Holdfast.cancel',
    'Holdfast.doctor',
    'Holdfast.enqueue',
    'Holdfast.enqueueMany',
    'Holdfast.explain',
    'Holdfast.series',
    'Holdfast.start',
    'Holdfast.typeSeries',
    'Holdfast.wait',
    'HoldfastClient',
    'Holdfasts',
    'Holdfasts.enqueue',
    'Schedules.create',
    'createHandler',
    'createPlugin',
    'createServer',
    'defineDependency',
    'defineSchedule',
    'defineType',
    'defineWorkflow',
    'messageFirst',
    'runJob',
    'scratchQueue',
    'smoke',
    'startRemoteWorker',
    'startWorker',
    'startWorkers',
  ])
  // Inside of the package, so that `holdfast` means its built entries, as it does for those who installed it.
  const folder = mkdtempSync(join(repository, '.examples-'))
  try {
    const files = [...examples].map(([name, code]) => {
      writeFileSync(join(folder, `${name}.ts`), `${code}\nexport {}\n`)
      return `${name}.ts`
    })
    writeFileSync(join(folder, 'around.ts'), around)
    const compilerOptions = { noEmit: true, rootDir: '.', outDir: 'out', noUnusedLocals: false }
    const settings = { extends: '../tsconfig.json', compilerOptions, files: ['around.ts', ...files], include: [] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const compiler = [join(repository, 'node_modules/typescript/bin/tsc'), '-p', folder, '--pretty', 'false']
    const { stdout } = await promisify(execFile)(process.execPath, compiler).catch((failed: { stdout: string }) => failed)
    expect(stdout).toBe('')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
