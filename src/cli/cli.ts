import { userInfo } from 'node:os'
import { type Command, Option } from 'commander'
import { sleep } from '../clock.js'
import type { Holdfast } from '../holdfast.js'
import { type Where, withDatabase, withOperator } from './connection.js'
import { UsageError } from './exit.js'
import type { Io } from './io.js'
import type { Operator } from './operator/operator.js'
import { Screen } from './screen.js'

/** What every command that looks or operates takes. */
export interface Common extends Where {
  json?: boolean
  why?: string
  yes?: boolean
  watch?: boolean
}

const watchEveryMs = 2_000

/** What the commands share: where they connect, how they answer, and how they ask before they do harm. */
export class Cli {
  readonly io: Io
  readonly screen: Screen
  /** The database schema that was named; undefined: the usual one. */
  schema: string | undefined
  /** What the process ends with where the command does not fail. */
  exitCode = 0

  constructor(io: Io) {
    this.io = io
    this.screen = new Screen(io)
  }

  /** A command that looks. */
  looking(under: Command, name: string, description: string, options: { isDefault?: boolean } = {}): Command {
    return this.database(under, name, description, options).option(
      '--url <url>',
      'or the server, such as https://jobs.example.com, with its key in HOLDFAST_KEY (default: HOLDFAST_URL)',
    )
  }

  /** A command that looks and can go on looking. */
  watching(under: Command, name: string, description: string): Command {
    return this.looking(under, name, description).option('--watch', 'show it again every two seconds, until Ctrl-C')
  }

  /** A command that changes something. */
  changing(under: Command, name: string, description: string): Command {
    return this.looking(under, name, description)
      .option('--why <text>', 'the reason, for the audit log')
      .option('--by <name>', 'who does it, for the audit log; over HTTP the key says so (default: the user of this machine)')
  }

  /** A command that changes something for good, or much of it. */
  destroying(under: Command, name: string, description: string): Command {
    return this.changing(under, name, description).option('--yes', 'do not ask; needed where nobody is at a terminal')
  }

  /** A command that needs the database itself. */
  database(under: Command, name: string, description: string, options: { isDefault?: boolean } = {}): Command {
    return under
      .command(name, options)
      .description(description)
      .addOption(
        new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name (default: DATABASE_URL)'),
      )
      .option('--json', 'answer in JSON')
  }

  using<Result>(options: Common, use: (operator: Operator) => Promise<Result>): Promise<Result> {
    return withOperator(this.io, this.#where(options), { by: options.by ?? userInfo().username, from: 'cli' }, use)
  }

  usingDatabase<Result>(options: Common, purpose: string, use: (holdfast: Holdfast) => Promise<Result>): Promise<Result> {
    return withDatabase(this.io, this.#where(options), purpose, use)
  }

  #where(options: Common): Where {
    return this.schema === undefined ? options : { ...options, schema: this.schema }
  }

  answer(options: Common, value: unknown, inWords: () => string): void {
    this.screen.print(options.json ? JSON.stringify(value, null, 2) : inWords())
  }

  /** Reads and shows once, or with --watch again and again over one connection. */
  async show<Value>(
    options: Common,
    read: (operator: Operator) => Promise<Value>,
    inWords: (value: Value) => string,
  ): Promise<void> {
    await this.using(options, async (operator) => {
      const { stop, out } = this.io
      for (;;) {
        const value = await read(operator)
        if (options.watch && out.isTTY && !options.json) out.write('\u001b[H\u001b[2J')
        // One line for each answer, so that a program can read them apart.
        if (options.watch && options.json) this.screen.print(JSON.stringify(value))
        else this.answer(options, value, () => inWords(value))
        if (!options.watch) return
        await sleep(watchEveryMs, { signal: stop })
        if (stop.aborted) return
      }
    })
  }

  /** Asks before harm is done. `what`: the rest of the question, such as "cancel job 1?" */
  async confirm({ yes }: Common, what: string): Promise<void> {
    if (yes) return
    const { ask } = this.io
    if (!ask) throw new UsageError(`nothing was done: pass --yes to ${what}; nobody is at a terminal to be asked`, '--yes')
    const said = await ask(`Really ${what}? [y/N] `)
    if (!/^y(es)?$/i.test(said.trim())) throw new UsageError('nothing was done', '--yes')
  }
}

/** JSON that was typed. */
export function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const said = `${name} is not JSON: ${(cause as Error).message}; a text has quotes of its own: '"yes"'`
    throw new UsageError(said, name, 'invalid_payload')
  }
}

/** A time that was typed, as the API takes it. */
export function moment(given: string, name: string): string {
  const time = new Date(given)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw new UsageError(`${name} is "${given}"; it must be a time with its offset, such as 2026-03-01T00:00:00Z`, name)
}

/** How many, where a list can be cut. */
export function limitOption(most = 100, usual = 20): Option {
  return new Option('--limit <n>', `how many, 1 to ${most}`).default(usual).argParser(Number)
}
