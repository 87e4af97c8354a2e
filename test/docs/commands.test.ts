/** What a reader is told to type. Blocks that can be run without a server or an hour are run elsewhere; here is each looked up. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { processIo } from '../../src/cli/io.js'
import { makeProgram } from '../../src/cli/program.js'
import { blocks } from '../support/docs-page.js'
import { filesUnder, repository } from '../support/source.js'

const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
/** Programs that are called otherwise than their package. */
const packageOf: Record<string, string> = { tsc: 'typescript' }
const { program } = makeProgram(processIo())
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'UPGRADING.md',
  ...['docs', 'examples']
    .flatMap((folder) => filesUnder(join(repository, folder), '.md'))
    // A project of its own has scripts and programs of its own.
    .filter((path) => !existsSync(join(dirname(path), 'package.json')))
    .map((path) => relative(repository, path)),
]

/** The lines of the shell blocks of a page, and the command lines of ours and of npm that stand elsewhere on it. */
function typed(page: string): string[] {
  const text = readFileSync(join(repository, page), 'utf8')
  const lines = blocks(text, 'sh').flatMap((block) => block.split('\n'))
  const elsewhere = text
    .replaceAll(/```sh\n[\s\S]*?```/g, '')
    .matchAll(/(?:^|`)((?:npx )?holdfast [a-z][^`\n]*|npm (?:run|test)\b[^`\n]*)/gm)
  return [...lines, ...[...elsewhere].map(([, line]) => line as string)]
    .map((line) => line.replace(/\s+#.*$/, '').trim())
    .filter(Boolean)
}

/** What is wrong with a line; undefined where nothing is. */
function wrong(line: string): string | undefined {
  const words =
    line
      .replace(/ > \S+$/, '')
      .replace(/^([A-Z_]+=\S+ )+/, '')
      .match(/'[^']*'|"[^"]*"|\S+/g) ?? []
  const [first, second, ...rest] = words.map((word) => word.replace(/[,.;:]$/, ''))
  if (first === 'npx' && second === 'holdfast') return wrongCommand(program, rest)
  if (first === 'holdfast') return wrongCommand(program, [second as string, ...rest])
  if (first === 'npx')
    return manifest.devDependencies[packageOf[second as string] ?? (second as string)]
      ? undefined
      : `npx ${second} is run by no test`
  if (first === 'npm') return wrongScript(second as string, rest)
  if (first === 'node')
    return existsSync(join(repository, (second as string).replace('node_modules/holdfast/', '')))
      ? undefined
      : `there is no ${second}`
  // A request that the tutorial makes is made by test/docs/tutorial.long.test.ts.
  return first === 'echo' || first === 'export' || first === 'curl' ? undefined : 'nobody has looked at such a line'
}

function wrongCommand(command: Command, [word, ...rest]: readonly string[]): string | undefined {
  const below = word?.includes('|') ? word.split('|') : [word]
  const found = below.map((name) => command.commands.find((one) => one.name() === name || one.aliases().includes(name as string)))
  if (word !== undefined && found.every((one) => one !== undefined)) {
    return found.map((one) => wrongCommand(one as Command, rest)).find(Boolean)
  }
  if (command.commands.length > 0 && word !== undefined && !word.startsWith('-')) return `${command.name()} has no ${word}`
  const given = [word, ...rest].filter((one) => one !== undefined)
  const known = [...command.options, ...program.options].map(({ long }) => long).concat('--help')
  const unknown = given.filter((one) => one.startsWith('--') && !known.includes(one.split('=')[0]))
  return unknown.length > 0 ? `${command.name()} has no ${unknown.join(', ')}` : undefined
}

/** A flag of a script stands somewhere in the files beside it. */
function wrongScript(name: string, rest: readonly string[]): string | undefined {
  if (name === 'install' || name === 'ci') {
    const known = [
      'holdfast',
      ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.devDependencies }),
    ]
    return rest.find((one) => !one.startsWith('-') && !known.includes(one.replace(/(?<=.)@.*$/, '')))
  }
  // What they do is npm's own, and test/docs/tutorial.long.test.ts does the same by hand.
  if (name === 'init' || name === 'pkg') return undefined
  const [script, ...given] = name === 'run' ? rest : [name, ...rest]
  const [, file] = /^node (\S+)/.exec(manifest.scripts[script as string] ?? '') ?? []
  if (!manifest.scripts[script as string]) return `package.json has no script ${script}`
  const flags = given.filter((one) => /^--\w/.test(one))
  const source = () =>
    filesUnder(join(repository, dirname(file as string)), '.mjs')
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n')
  const paths = given.filter((one) => one.startsWith('test/') && !existsSync(join(repository, one)))
  return [...paths, ...(flags.length > 0 ? flags.filter((flag) => !source().includes(flag.replace(/^--/, ''))) : [])].at(0)
}

test('every command that a page tells its reader to type is there, with its flags', () => {
  const all = pages.flatMap((page) => typed(page).map((line) => ({ page, line })))
  expect(all.length).toBeGreaterThan(100)
  expect(all.flatMap(({ page, line }) => (wrong(line) ? [`${page}: ${line}: ${wrong(line)}`] : []))).toEqual([])
})

test('a command, a flag or a script that there is not would be found', () => {
  const lines = ['holdfast jobs polish', 'npx holdfast serve --loudly', 'npm run polish', 'npm install left-pad', 'make coffee']
  expect(lines.filter((line) => wrong(line) === undefined)).toEqual([])
})
