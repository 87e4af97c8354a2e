/** What holds for every command: it says how it is typed, and some test types it, over the database and over HTTP. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { processIo } from '../../src/cli/io.js'
import { makeProgram } from '../../src/cli/program.js'
import { filesUnder, repository } from '../support/source.js'

const { program } = makeProgram(processIo())

function leavesOf(command: Command, path: readonly string[] = []): { command: Command; path: readonly string[] }[] {
  if (command.commands.length === 0) return [{ command, path }]
  return command.commands.flatMap((one) => leavesOf(one, [...path, one.name()]))
}
const leaves = leavesOf(program)

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut(more) {
      text += more
    },
  })
  command.outputHelp()
  return text
}

describe('--help of every command', () => {
  test.each(leaves.map((leaf) => [leaf.path.join(' '), leaf] as const))('%s has examples that it takes', (path, { command }) => {
    const [, examples = ''] = helpOf(command).split('\nExamples:\n')
    const typed = examples
      .split('\n')
      .filter((line) => line.startsWith('  '))
      .map((line) => line.replace(/\s+#.*$/, '').trim())
    expect(typed.length).toBeGreaterThan(0)
    const names = path.split(' ').slice(0, -1)
    const called = [command.name(), ...command.aliases()].map((name) => ['holdfast', ...names, name].join(' '))
    const known = [...command.options, ...program.options].map(({ long }) => long)
    for (const line of typed) {
      expect(
        called.some((start) => line === start || line.includes(`${start} `) || line.includes(`${start})`)),
        line,
      ).toBe(true)
      const given = line
        .replaceAll(/'[^']*'|"[^"]*"/g, 'text')
        .split(' ')
        .filter((word) => word.startsWith('--'))
      expect(
        given.filter((option) => !known.includes(option)),
        line,
      ).toEqual([])
    }
  })
})

/** Those that do not go through an operator, and why. Each has tests of its own, which run it as a program. */
const elsewhere: Record<string, string> = {
  up: 'it runs everything',
  serve: 'it is the server',
  work: 'it is a worker',
  smoke: 'it runs a file of handlers, and is typed in journeys/smoke',
  migrate: 'the schema is made in the database itself',
  archive: 'it reads the database whole days at a time, and writes files',
  reencrypt: 'the keys are in the environment of the program',
  'config check': 'it reads the environment',
  completion: 'it prints a script',
  doctor: 'it looks at one database, and the answer of the server is tested as GET /doctor',
  top: 'it draws on a terminal, tested over both ways in top.test.ts',
  'members ls': 'it reads several databases, which the environment names',
  'members plproxy': 'it prints a script',
  'members open': 'it changes several databases',
  'members drain': 'it changes several databases',
}

describe('every command', () => {
  const tests = filesUnder(join(repository, 'test'), '.test.ts')
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
    .replaceAll(/\s+/g, ' ')
  /** Both ways, where a helper types it twice or a loop goes over both. */
  const twice = String.raw`(?:both|type|way|run|typed)\(\[? ?`
  const over = (way: string, words: string) => new RegExp(String.raw`(?:${twice}|\b${way}\(\[? ?)${words}[,\])]`).test(tests)

  test.each(leaves.map((leaf) => [leaf.path.join(' '), leaf.command] as const))(
    '%s is typed over the database and over HTTP',
    (path, command) => {
      if (elsewhere[path] !== undefined) return
      const names = path.split(' ').slice(0, -1)
      const words = [command.name(), ...command.aliases()].map((name) => [...names, name].map((one) => `'${one}'`).join(', '))
      const typed = { database: false, http: false }
      for (const said of words) {
        typed.database ||= over('database', said)
        typed.http ||= over('http', said)
      }
      expect(typed).toEqual({ database: true, http: true })
    },
  )

  test('that is said to be elsewhere is there', () => {
    const paths = leaves.map(({ path }) => path.join(' '))
    expect(Object.keys(elsewhere).filter((path) => !paths.includes(path))).toEqual([])
  })
})
