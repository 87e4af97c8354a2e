import { type Command, Option } from 'commander'
import type { MovedAnswer } from '../../api/common.js'
import type { ListQuery } from '../../api/jobs.js'
import { HoldfastError } from '../../errors.js'
import { type JobStatus, statuses } from '../../job/state.js'
import { type Cli, type Common, limitOption, moment, parsed } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { UsageError } from '../exit.js'
import type { Operator } from '../operator/operator.js'
import { words } from '../screen.js'
import { jobLines, jobTable } from '../show/jobs.js'
import { addTail } from './tail.js'

export interface Listed extends Common {
  type?: string
  status?: JobStatus
  lane?: string
  key?: string
  owner?: string
  tag?: string[]
  createdAfter?: string
  createdBefore?: string
  endedAfter?: string
  endedBefore?: string
  errorGroup?: string
  batch?: string
  payload?: string
  text?: string
  limit: number
  cursor?: string
}

const ofOne = ['<id>', 'the id of the job'] as const

/** `holdfast jobs ls|show|tail|cancel|replay|retry|resume|run-now|reschedule|set-priority|bury|forget`. */
export function addJobs(program: Command, cli: Cli): void {
  const jobs = program.command('jobs').summary('find, show, cancel, replay and reschedule jobs')
  jobs.description('Shows and operates single jobs. What is changed stands in the audit log.')
  jobFilters(cli.watching(jobs, 'ls', 'Lists jobs, newest first, ended or not: those that fit every filter that is given.'))
    .addOption(limitOption())
    .option('--cursor <cursor>', 'the page after this one, as an earlier page named it')
    .addHelpText('after', examples('jobs ls --status dead --type send_email', 'jobs ls --payload \'{"tenant": 7}\' --json'))
    .action((options: Listed) =>
      cli.show(
        options,
        (operator) => operator.jobs(queryOf(options)),
        (page) => jobTable(cli.screen, page),
      ),
    )
  cli
    .watching(jobs, 'show', 'Shows one job: its payload, every attempt, and what people changed about it.')
    .argument(...ofOne)
    .action((id: string, options: Common) =>
      cli.show(
        options,
        async (operator) => (await operator.job(id)) ?? unknown(id),
        (job) => jobLines(cli.screen, job),
      ),
    )
  addTail(jobs, cli)
  addMoves(jobs, cli)
}

/** The options by which jobs are found. */
export function jobFilters(command: Command): Command {
  return command
    .option('--type <name>', 'only those of this type')
    .addOption(new Option('--status <status>', 'only these').choices(Object.keys(statuses)))
    .option('--lane <name>', 'only those of this lane')
    .option('--key <key>', 'only those with this concurrency key')
    .option('--owner <service>', 'only those that this service enqueued over HTTP')
    .option('--tag <tag...>', 'only those that have all of these tags')
    .option('--created-after <time>', 'only those created then or later, such as 2026-03-01T00:00:00Z')
    .option('--created-before <time>', 'only those created before')
    .option('--ended-after <time>', 'only those that ended then or later')
    .option('--ended-before <time>', 'only those that ended before')
    .option('--error-group <fingerprint>', 'only those that failed with errors of this group, as jobs show names it')
    .option('--batch <id>', 'only those that are part of this batch or execution')
    .option('--payload <json>', 'only those whose payload holds this, such as \'{"tenant": 7}\'')
    .option('--text <text>', 'only those with this text in their id, keys, tags, owner, last error or payload')
}

function addMoves(jobs: Command, cli: Cli): void {
  const move = async (id: string, options: Common, change: (operator: Operator) => Promise<MovedAnswer>) =>
    say(cli, id, options, await cli.using(options, change))

  cli
    .destroying(jobs, 'cancel', 'Cancels a job that waits or runs.')
    .argument(...ofOne)
    .action(async (id, options) => {
      await cli.confirm(options, `cancel job ${id}`)
      await move(id, options, (operator) => operator.cancel(id, why(options)))
    })
  cli
    .changing(jobs, 'replay', 'Makes a dead job due again.')
    .argument(...ofOne)
    .option('--confirm <type>', 'the type of the job, where it is sensitive')
    .action((id, options) =>
      move(id, options, (operator) => operator.deadLetters.replay(id, defined({ confirm: options.confirm, ...why(options) }))),
    )
  cli
    .changing(jobs, 'resume', 'Takes up a cancelled job from its last checkpoint or step.')
    .argument(...ofOne)
    .option('--confirm <type>', 'the type of the job, where it is sensitive')
    .action((id, options) =>
      move(id, options, (operator) => operator.resume(id, defined({ confirm: options.confirm, ...why(options) }))),
    )
  cli
    .changing(
      jobs,
      'retry',
      'Runs a job again that failed: a dead one is replayed, one that waits for its next attempt is due at once.',
    )
    .argument(...ofOne)
    .option('--confirm <type>', 'the type of the job, where it is sensitive')
    .action((id, options) =>
      move(id, options, async (operator) => {
        const { status } = (await operator.job(id)) ?? unknown(id)
        if (status !== 'dead') return operator.runNow(id, why(options))
        return operator.deadLetters.replay(id, defined({ confirm: options.confirm, ...why(options) }))
      }),
    )
  cli
    .destroying(jobs, 'bury', 'Makes a dead letter of a job that does not run, to be looked at later.')
    .argument(...ofOne)
    .action(async (id, options) => {
      await cli.confirm(options, `bury job ${id}`)
      await move(id, options, (operator) => operator.bury(id, why(options)))
    })
  cli
    .destroying(jobs, 'forget', 'Deletes everything that is kept of a job that has ended.')
    .argument(...ofOne)
    .action(async (id, options) => {
      await cli.confirm(options, `delete everything that is kept of job ${id}`)
      const moved = await cli.using(options, (operator) => operator.forget(id, why(options)))
      cli.answer(options, moved, () => `Job ${id} is forgotten.`)
    })
  cli
    .changing(jobs, 'run-now', 'Makes a job due that waits for its time.')
    .argument(...ofOne)
    .action((id, options) => move(id, options, (operator) => operator.runNow(id, why(options))))
  cli
    .changing(jobs, 'reschedule', 'Gives a job that does not run another time.')
    .argument(...ofOne)
    .addOption(new Option('--delay <time>', 'that much later than now, such as 1h').conflicts('at'))
    .option('--at <time>', 'at this time, such as 2026-03-01T00:00:00Z')
    .action((id, options) => move(id, options, (operator) => operator.reschedule(id, { ...newTime(options), ...why(options) })))
  cli
    .changing(jobs, 'set-priority', 'Gives a job that waits another priority.')
    .alias('nice')
    .argument(...ofOne)
    .argument('<priority>', '0 (low) to 9 (high)', Number)
    .action((id, priority, options) => move(id, options, (operator) => operator.setPriority(id, priority, why(options))))
}

/** What became of a job, in one line. */
export function say(cli: Cli, id: string, options: Common, moved: MovedAnswer): void {
  const waits = moved.waits === undefined ? '' : ` It does not run yet: ${moved.waits}.`
  cli.answer(options, moved, () => `Job ${id} is ${words(moved.status)}; it was ${words(moved.was)}.${waits}`)
}

export function why({ why }: Common): { why?: string } {
  return why === undefined ? {} : { why }
}

export function unknown(id: string): never {
  throw new HoldfastError('not_found', `there is no job ${id}; it never existed, or is no longer kept`, { field: 'id' })
}

function queryOf(options: Listed): ListQuery {
  const { limit, cursor } = options
  return { ...filterOf(options), ...defined({ limit, cursor }) }
}

/** The filter that was typed, in the fields of the API. */
export function filterOf(options: Omit<Listed, 'limit' | 'cursor'>): Omit<ListQuery, 'limit' | 'cursor'> {
  const { type, status, lane, key, owner, tag, errorGroup, batch, payload, text } = options
  const time = (given: string | undefined, name: string) => (given === undefined ? undefined : moment(given, name))
  if (payload !== undefined) parsed(payload, '--payload')
  return defined({
    ...{ type, status, lane, owner, batch, payload, text },
    concurrency_key: key,
    error_group: errorGroup,
    tags: tag,
    created_after: time(options.createdAfter, '--created-after'),
    created_before: time(options.createdBefore, '--created-before'),
    ended_after: time(options.endedAfter, '--ended-after'),
    ended_before: time(options.endedBefore, '--ended-before'),
  })
}

function newTime({ delay, at }: { delay?: string; at?: string }): { delay: string } | { run_at: string } {
  if (at !== undefined) return { run_at: moment(at, '--at') }
  if (delay !== undefined) return { delay }
  throw new UsageError('no time was given: pass --delay 1h, or --at 2026-03-01T00:00:00Z', '--at')
}
