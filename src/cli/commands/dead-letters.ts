import { type Command, Option } from 'commander'
import type { LetterAnswer, ManyAnswer, ManyBody } from '../../api/dlq.js'
import { sleep } from '../../clock.js'
import { HoldfastError } from '../../errors.js'
import { type Cli, type Common, limitOption, moment, parsed } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { UsageError } from '../exit.js'
import type { Operator } from '../operator/operator.js'
import { Progress } from '../progress.js'
import { letterGroups, letterTable, lookedAt } from '../show/dead-letters.js'
import { jobLines } from '../show/jobs.js'
import { say, why } from './jobs.js'

interface Filtered extends Common {
  type?: string
  reason?: 'exhausted' | 'fatal' | 'poison' | 'expired' | 'buried'
  error?: string
  diedFrom?: string
  diedBefore?: string
  tag?: string[]
  batch?: string
  all?: boolean
  atMost?: number
  confirm?: string[]
  dryRun?: boolean
  limit: number
  cursor?: string
}

const countEveryMs = 1_000
const oneOrMany = ['[id]', 'the id of the job; left out, all that fit the filter'] as const

/** `holdfast dlq ls|groups|show|replay|edit|discard`. */
export function addDeadLetters(program: Command, cli: Cli): void {
  const dlq = program.command('dlq').summary('find, replay, edit and discard dead letters')
  dlq.description('Shows and operates jobs that ended dead. What is changed stands in the audit log.')
  filtered(cli.watching(dlq, 'ls', 'Lists dead letters, newest first.'))
    .addOption(limitOption())
    .option('--cursor <cursor>', 'the page after this one, as an earlier page named it')
    .action((options: Filtered) =>
      cli.show(
        options,
        ({ deadLetters }) =>
          deadLetters.list({ ...filterOf(options), ...defined({ limit: options.limit, cursor: options.cursor }) }),
        (page) => letterTable(cli.screen, page),
      ),
    )
  filtered(cli.looking(dlq, 'groups', `Groups dead letters by type and error, of the newest ${lookedAt}.`)).action(
    (options: Filtered) =>
      cli.show(
        options,
        (operator) => newest(operator, options),
        (found) => letterGroups(cli.screen, found.letters),
      ),
  )
  cli
    .looking(dlq, 'show', 'Shows one dead letter: its payload and every attempt.')
    .argument('<id>', 'the id of the job')
    .action((id: string, options: Common) =>
      cli.show(
        options,
        async ({ deadLetters }) => (await deadLetters.get(id)) ?? none(id),
        (letter) => jobLines(cli.screen, letter),
      ),
    )
  cli
    .destroying(dlq, 'edit', 'Replays a dead letter with another payload; the old one stays in its story.')
    .argument('<id>', 'the id of the job')
    .argument('<payload>', 'the new payload as JSON')
    .option('--confirm <type>', 'the type of the job, where it is sensitive')
    .action((id: string, payload: string, options: Common & { confirm?: string }) => edit(cli, id, payload, options))
  many(cli, dlq, 'replay', 'Makes dead jobs due again: one, or all that fit a filter.')
    .option('--confirm <type...>', 'the sensitive types among them')
    .addHelpText(
      'after',
      examples('dlq replay --type send_email --error ECONNREFUSED --dry-run', 'dlq replay --all --at-most 10 --yes'),
    )
  many(cli, dlq, 'discard', 'Ends dead jobs for good: one, or all that fit a filter.')
}

function filtered(command: Command): Command {
  return command
    .option('--type <name>', 'only those of this type')
    .addOption(
      new Option('--reason <reason>', 'only those that died so').choices(['exhausted', 'fatal', 'poison', 'expired', 'buried']),
    )
    .option('--error <text>', 'only those with this text in their last error')
    .option('--died-from <time>', 'only those that died then or later')
    .option('--died-before <time>', 'only those that died before')
    .option('--tag <tag...>', 'only those that have all of these tags')
    .option('--batch <id>', 'only those that are part of this batch or execution')
}

function many(cli: Cli, dlq: Command, act: 'replay' | 'discard', description: string): Command {
  return filtered(cli.destroying(dlq, act, description).argument(...oneOrMany))
    .option('--all', 'every dead letter')
    .addOption(new Option('--at-most <n>', 'no more than so many, the newest first').argParser(Number))
    .option('--dry-run', 'only count them')
    .action((id: string | undefined, options: Filtered) =>
      id === undefined ? moveMany(cli, act, options) : moveOne(cli, act, id, options),
    )
}

async function moveOne(cli: Cli, act: 'replay' | 'discard', id: string, options: Filtered): Promise<void> {
  if (act === 'discard') await cli.confirm(options, `discard dead letter ${id}`)
  const asked = act === 'replay' ? defined({ confirm: options.confirm, ...why(options) }) : why(options)
  say(cli, id, options, await cli.using(options, ({ deadLetters }) => deadLetters[act](id, asked)))
}

async function moveMany(cli: Cli, act: 'replay' | 'discard', options: Filtered): Promise<void> {
  const filter = { ...filterOf(options), ...(options.all && { all: true as const }) }
  if (Object.keys(filter).length === 0) {
    throw new UsageError(`say which: the id of one, a filter such as --type send_email, or --all`, 'filter')
  }
  const body = { filter, ...defined({ at_most: options.atMost, ...why(options) }) }
  const move = ({ deadLetters }: Operator, dry_run: boolean): Promise<ManyAnswer> =>
    act === 'discard'
      ? deadLetters.discardMany({ ...body, dry_run })
      : deadLetters.replayMany({ ...body, dry_run, ...defined({ confirm: options.confirm }) })
  const counted = await cli.using(options, (operator) => move(operator, true))
  if (options.dryRun) return cli.answer(options, counted, () => `${counted.matched} dead letters fit; nothing was done.`)
  await cli.confirm(options, `${act} ${counted.matched} dead letters`)
  const done = await cli.using(options, (operator) =>
    whileCounting(cli, counted.matched, `${act}ed`, move(operator, false), async () => (await move(operator, true)).matched),
  )
  const refused = Object.entries(done.refused).map(([because, count]) => `\n  ${count} were not: ${because}`)
  const waits = done.waits === undefined ? '' : `\n  They do not run yet: ${done.waits}.`
  cli.answer(options, done, () => `${done.done} of ${done.matched} dead letters were ${act}ed.${refused.join('')}${waits}`)
}

/** Shows how many of them are gone while they are moved, a thousand at a time. */
async function whileCounting<Done>(
  cli: Cli,
  total: number,
  what: string,
  moving: Promise<Done>,
  left: () => Promise<number>,
): Promise<Done> {
  const progress = new Progress(cli.io, what)
  const moved = new AbortController()
  const ended = moving.finally(() => moved.abort())
  ended.catch(() => {})
  try {
    while (cli.io.err.isTTY && !moved.signal.aborted) {
      await sleep(countEveryMs, { signal: moved.signal })
      if (!moved.signal.aborted) progress.at(Math.max(0, total - (await left())), total)
    }
    return await ended
  } finally {
    progress.end()
  }
}

async function edit(cli: Cli, id: string, payload: string, options: Common & { confirm?: string }): Promise<void> {
  const value = parsed(payload, 'payload')
  const moved = await cli.using(options, async ({ deadLetters }) => {
    const letter = (await deadLetters.get(id)) ?? none(id)
    const { screen } = cli
    if (!options.json) {
      screen.print(`${screen.red(`- ${JSON.stringify(letter.payload)}`)}\n${screen.green(`+ ${JSON.stringify(value)}`)}`)
    }
    await cli.confirm(options, `replay ${id} with this payload`)
    return deadLetters.replay(id, { payload: value, ...defined({ confirm: options.confirm, ...why(options) }) })
  })
  say(cli, id, options, moved)
}

async function newest({ deadLetters }: Operator, options: Filtered): Promise<{ letters: LetterAnswer[] }> {
  const letters: LetterAnswer[] = []
  for (let cursor: string | null | undefined; cursor !== null && letters.length < lookedAt; ) {
    const page = await deadLetters.list({ ...filterOf(options), limit: 100, ...(cursor === undefined ? {} : { cursor }) })
    letters.push(...page.letters)
    cursor = page.next
  }
  return { letters }
}

function filterOf({ type, reason, error, diedFrom, diedBefore, tag, batch }: Filtered): ManyBody['filter'] {
  return defined({
    ...{ type, reason, error, tags: tag, batch },
    died_from: diedFrom === undefined ? undefined : moment(diedFrom, '--died-from'),
    died_before: diedBefore === undefined ? undefined : moment(diedBefore, '--died-before'),
  })
}

function none(id: string): never {
  throw new HoldfastError('not_found', `no job ${id} is among the dead letters`, { field: 'id' })
}
