import { type Command, Option } from 'commander'
import type { BulkAnswer, BulkBody } from '../../api/bulk.js'
import { sleep } from '../../clock.js'
import { HoldfastError } from '../../errors.js'
import { type Cli, type Common, limitOption, moment } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { UsageError } from '../exit.js'
import type { Operator } from '../operator/operator.js'
import { Progress } from '../progress.js'
import { ago, type Screen, words } from '../screen.js'
import { more } from '../show/jobs.js'
import { filterOf, jobFilters, type Listed, why } from './jobs.js'

interface BulkOptions extends Omit<Listed, 'limit' | 'cursor'> {
  all?: boolean
  id?: string[]
  priority?: number
  at?: string
  delay?: string
  pace?: number
  confirm?: string[]
  dryRun?: boolean
  wait?: boolean
}

const actions = ['cancel', 'retry', 'replay', 'discard', 'run-now', 'reschedule', 'set-priority', 'bury', 'resume'] as const
const ofOne = ['<id>', 'the id of the bulk action'] as const
const lookEveryMs = 500
const columns = [
  { head: 'ID' },
  { head: 'ACTION' },
  { head: 'STATUS' },
  { head: 'DONE', right: true },
  { head: 'OF', right: true },
  { head: 'AGE', right: true },
  { head: 'BY', cut: true },
  { head: 'WHY', cut: true },
]

/** `holdfast bulk start|ls|show|wait|abort`. */
export function addBulk(program: Command, cli: Cli): void {
  const bulk = program.command('bulk').summary('do something to many jobs in the background, and follow it')
  bulk.description(
    'Does something to all jobs that fit a filter. A worker carries it out in portions, and another goes on where one was killed.',
  )
  const start = cli
    .destroying(bulk, 'start', 'Begins a bulk action, after saying how many jobs fit, and prints its id.')
    .addArgument(bulk.createArgument('<action>', 'what to do to each job').choices(actions))
  jobFilters(start)
    .option('--all', 'every job that the action can be done to')
    .option('--id <id...>', 'these jobs instead of a filter')
    .addOption(new Option('--priority <n>', 'the new priority, for set-priority').argParser(Number))
    .option('--at <time>', 'the new time, for reschedule, such as 2026-03-01T00:00:00Z')
    .option('--delay <time>', 'or that much later than now, such as 1h')
    .addOption(new Option('--pace <n>', 'how many jobs a second at most').argParser(Number))
    .option('--confirm <type...>', 'the sensitive types among them, for retry, replay and resume')
    .option('--dry-run', 'only count them')
    .option('--wait', 'stay until it has ended, and show how far it has come')
    .addHelpText('after', examples('bulk start cancel --type send_email --tag spring --wait', 'bulk start retry --all --dry-run'))
    .action((action: BulkBody['action'], options: BulkOptions) => begin(cli, action, options))
  cli
    .watching(bulk, 'ls', 'Lists bulk actions, newest first.')
    .addOption(limitOption())
    .option('--cursor <cursor>', 'the page after this one, as an earlier page named it')
    .action((options: Common & { limit: number; cursor?: string }) =>
      cli.show(
        options,
        ({ bulkActions }) => bulkActions.list(defined({ limit: options.limit, cursor: options.cursor })),
        (page) => cli.screen.table(columns, page.actions.map(row), 'There are no bulk actions.') + more(cli.screen, page.next),
      ),
    )
  cli
    .watching(bulk, 'show', 'Shows one bulk action: how far it has come, and what was refused.')
    .argument(...ofOne)
    .action((id: string, options: Common) =>
      cli.show(
        options,
        (operator) => one(operator, id),
        (found) => lines(cli.screen, found),
      ),
    )
  cli
    .looking(
      bulk,
      'wait',
      'Stays until a bulk action has ended, and shows how far it has come. Ends with 1 where it failed or was aborted.',
    )
    .argument(...ofOne)
    .action((id: string, options: Common) => cli.using(options, (operator) => follow(cli, operator, id, options)))
  cli
    .destroying(bulk, 'abort', 'Ends a bulk action after the portion under way; what is done stays done.')
    .argument(...ofOne)
    .action(async (id: string, options: Common) => {
      await cli.confirm(options, `abort bulk action ${id}`)
      const ended = await cli.using(options, ({ bulkActions }) => bulkActions.abort(id, why(options)))
      cli.answer(options, ended, () => lines(cli.screen, ended))
    })
}

async function begin(cli: Cli, action: BulkBody['action'], options: BulkOptions): Promise<void> {
  const body = bodyOf(action, options)
  await cli.using(options, async (operator) => {
    const { bulkActions } = operator
    const counted = await bulkActions.estimate(body)
    const count = `${counted.estimate}${counted.more ? ' or more' : ''} jobs`
    if (options.dryRun) return cli.answer(options, counted, () => `${count} fit; nothing was done.`)
    await cli.confirm(options, `${words(action.replace('-', ' '))} ${count}`)
    const made = await bulkActions.create({ ...body, ...why(options) })
    if (options.wait) return follow(cli, operator, made.id, options)
    cli.answer(options, made, () => `${made.id}\n${cli.screen.dim(`${count} fit; holdfast bulk wait ${made.id} follows it.`)}`)
  })
}

/** Whoever follows may go away at any time: the action goes on. */
async function follow(cli: Cli, operator: Operator, id: string, options: Common): Promise<void> {
  const progress = new Progress(cli.io, 'done')
  try {
    for (;;) {
      const found = await one(operator, id)
      const { status, matched, estimate } = found
      if (status !== 'waiting' && status !== 'running') {
        progress.end()
        if (status !== 'completed') cli.exitCode = 1
        return cli.answer(options, found, () => lines(cli.screen, found))
      }
      progress.at(matched, Math.max(estimate, matched))
      await sleep(lookEveryMs, { signal: cli.io.stop })
      if (cli.io.stop.aborted) return
    }
  } finally {
    progress.end()
  }
}

function bodyOf(action: BulkBody['action'], options: BulkOptions): BulkBody {
  const { id: ids, all, at, ...rest } = options
  const { payload, ...named } = filterOf(rest)
  const filter = { ...named, ...(payload !== undefined && { payload: JSON.parse(payload) }), ...(all && { all: true as const }) }
  const given = Object.keys(filter).length > 0
  if (given === (ids !== undefined)) {
    throw new UsageError('say which: a filter such as --type send_email, --all, or --id with the ids of jobs', 'filter')
  }
  const { priority, delay, pace, confirm } = options
  const run_at = at === undefined ? undefined : moment(at, '--at')
  return { action, ...(given ? { filter } : { ids }), ...defined({ priority, delay, pace, confirm, run_at }) } as BulkBody
}

async function one({ bulkActions }: Operator, id: string): Promise<BulkAnswer> {
  const found = await bulkActions.get(id)
  if (found) return found
  throw new HoldfastError('not_found', `no bulk action ${id} is kept`, { field: 'id' })
}

function row({ id, action, status, done, estimate, more: unsure, created_at, by, why: reason }: BulkAnswer): string[] {
  return [id, action, status, String(done), `${estimate}${unsure ? '+' : ''}`, ago(created_at), by, reason ?? '']
}

function lines(screen: Screen, bulk: BulkAnswer): string {
  const { id, action, status, matched, done, refused, by, why: reason, created_at, ended_at, aborted_by, aborted_why } = bulk
  const said = (...parts: (string | null)[]) => `  ${parts.filter(Boolean).join('  ')}`
  return [
    `${screen.bold(id)}  ${action}  ${status}`,
    said(`${done} of ${matched} jobs that were found are done`),
    ...Object.entries(refused).map(([because, count]) => said(`${count} were not: ${because}`)),
    said(`by ${by}`, created_at, reason),
    ...(aborted_by === null ? [] : [said(`aborted by ${aborted_by}`, aborted_why)]),
    ...(ended_at === null ? [] : [said(`ended ${ended_at}`)]),
  ].join('\n')
}
