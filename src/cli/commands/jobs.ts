import { type Command, Option } from 'commander'
import { HoldfastError } from '../../errors.js'
import type { JobListFilter } from '../../history/list.js'
import type { JobStory, JobSummary } from '../../history/story.js'
import type { Holdfast } from '../../holdfast.js'
import { type JobStatus, statuses } from '../../job/state.js'
import type { Moved } from '../../operate/moves.js'
import { answer, type Common, changing, looking, me, using } from '../operating.js'
import { bold, dim } from '../print.js'

interface Listed extends Common {
  type?: string
  status?: JobStatus
  lane?: string
  key?: string
  owner?: string
  tag?: string[]
  createdAfter?: string
  createdBefore?: string
  payload?: string
  limit: number
  cursor?: string
}

/** `holdfast jobs ls|show|cancel|replay|run-now|reschedule|set-priority`. */
export function addJobs(program: Command): void {
  const jobs = program.command('jobs').summary('find, show, cancel, replay and reschedule jobs')
  jobs.description('Shows and operates single jobs. What is changed stands in the audit log.')
  const ofOne = ['<id>', 'the id of the job'] as const
  looking(jobs, 'ls', 'Lists jobs, newest first, ended or not: those that fit every filter that is given.')
    .option('--type <name>', 'only those of this type')
    .addOption(new Option('--status <status>', 'only these').choices(Object.keys(statuses)))
    .option('--lane <name>', 'only those of this lane')
    .option('--key <key>', 'only those with this concurrency key')
    .option('--owner <service>', 'only those that this service enqueued over HTTP')
    .option('--tag <tag...>', 'only those that have all of these tags')
    .option('--created-after <time>', 'only those created then or later, such as 2026-03-01T00:00:00Z')
    .option('--created-before <time>', 'only those created before')
    .option('--payload <json>', 'only those whose payload holds this, such as \'{"tenant": 7}\'')
    .addOption(new Option('--limit <n>', 'how many, 1 to 100').default(20).argParser(Number))
    .option('--cursor <cursor>', 'the page after this one, as an earlier page named it')
    .action(ls)
  looking(jobs, 'show', 'Shows one job: its payload, every attempt, and what people changed about it.')
    .argument(...ofOne)
    .action(show)
  changing(jobs, 'cancel', 'Cancels a job that waits or runs.')
    .argument(...ofOne)
    .action((id, options) => move(id, options, (holdfast) => holdfast.cancel(id, me(options))))
  changing(jobs, 'replay', 'Makes a dead job due again.')
    .argument(...ofOne)
    .option('--confirm <type>', 'the type of the job, where it is sensitive')
    .action((id, options) => {
      const confirmed = options.confirm === undefined ? {} : { confirm: options.confirm }
      return move(id, options, (holdfast) => holdfast.deadLetters.replay(id, me(options), confirmed))
    })
  changing(jobs, 'run-now', 'Makes a job due that waits for its time.')
    .argument(...ofOne)
    .action((id, options) => move(id, options, (holdfast) => holdfast.runNow(id, me(options))))
  changing(jobs, 'reschedule', 'Gives a job that does not run another time.')
    .argument(...ofOne)
    .addOption(new Option('--delay <time>', 'that much later than now, such as 1h').conflicts('at'))
    .option('--at <time>', 'at this time, such as 2026-03-01T00:00:00Z')
    .action((id, options) => move(id, options, (holdfast) => holdfast.reschedule(id, newTime(options), me(options))))
  changing(jobs, 'set-priority', 'Gives a job that waits another priority.')
    .argument(...ofOne)
    .argument('<priority>', '0 (low) to 9 (high)', Number)
    .action((id, priority, options) => move(id, options, (holdfast) => holdfast.setPriority(id, priority, me(options))))
}

async function ls(options: Listed): Promise<void> {
  const { limit, cursor } = options
  const filter = filterOf(options)
  const page = await using(options, (holdfast) => holdfast.jobs(filter, { limit, ...(cursor !== undefined && { cursor }) }))
  const lines = page.jobs.map(line)
  if (page.next !== null) lines.push(dim(`more: --cursor ${page.next}`))
  answer(options, page, () => (lines.length === 0 ? 'There are no such jobs.' : lines.join('\n')))
}

async function show(id: string, options: Common): Promise<void> {
  const job = await using(options, (holdfast) => holdfast.job(id))
  if (!job) throw new HoldfastError('not_found', `there is no job ${id}; it never existed, or is no longer kept`, { field: 'id' })
  answer(options, job, () => whole(job))
}

async function move(id: string, options: Common, change: (holdfast: Holdfast) => Promise<Moved>): Promise<void> {
  const moved = await using(options, change)
  if (!moved.done) throw new HoldfastError('conflict', `nothing was changed: ${moved.because}`)
  const waits = moved.waits === undefined ? '' : ` It does not run yet: ${moved.waits}.`
  answer(options, moved, () => `Job ${id} is ${words(moved.status)}; it was ${words(moved.was)}.${waits}`)
}

function filterOf({ type, status, lane, key, owner, tag, createdAfter, createdBefore, payload }: Listed): JobListFilter {
  return {
    ...(type !== undefined && { type }),
    ...(status !== undefined && { status }),
    ...(lane !== undefined && { lane }),
    ...(key !== undefined && { concurrencyKey: key }),
    ...(owner !== undefined && { owner }),
    ...(tag !== undefined && { tags: tag }),
    ...(createdAfter !== undefined && { createdAfter: moment(createdAfter, '--created-after') }),
    ...(createdBefore !== undefined && { createdBefore: moment(createdBefore, '--created-before') }),
    ...(payload !== undefined && { payload: parsed(payload) }),
  }
}

function newTime({ delay, at }: { delay?: string; at?: string }): { delay: string } | { runAt: Date } {
  if (at !== undefined) return { runAt: moment(at, '--at') }
  if (delay !== undefined) return { delay }
  throw new HoldfastError('invalid_option', 'no time was given: pass --delay 1h, or --at 2026-03-01T00:00:00Z', { field: 'at' })
}

function moment(given: string, option: string): Date {
  const time = new Date(given)
  if (!Number.isNaN(time.getTime())) return time
  const problem = `${option} is "${given}"; it must be a time with its offset, such as 2026-03-01T00:00:00Z`
  throw new HoldfastError('invalid_option', problem, { field: option })
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload)
  } catch (cause) {
    throw new HoldfastError('invalid_payload', `--payload is not JSON: ${(cause as Error).message}`, { field: 'payload', cause })
  }
}

function line(job: JobSummary): string {
  const { id, type, status, lane, attempt, maxAttempts, concurrencyKey, tags, createdAt } = job
  const notes = [...(concurrencyKey === null ? [] : [`key ${concurrencyKey}`]), ...tags.map((tag) => `#${tag}`)]
  const place = [type, words(status), lane, `attempt ${attempt}/${maxAttempts}`]
  return [bold(id), ...place, createdAt.toISOString(), ...notes.map(dim)].join('  ')
}

function whole(job: JobStory): string {
  const { payload, dueAt, attempts, changes, progress } = job
  return [
    line(job),
    `  payload ${JSON.stringify(payload)}`,
    ...(dueAt === null ? [] : [`  due ${dueAt.toISOString()}`]),
    ...(progress === undefined ? [] : [`  progress ${Math.round(progress.fraction * 100)} %  ${progress.note ?? ''}`.trimEnd()]),
    ...attempts.map(({ attempt, outcome, endedAt, worker, error }) =>
      [`  attempt ${attempt}`, words(outcome), endedAt.toISOString(), worker ?? '', reason(error)].filter(Boolean).join('  '),
    ),
    ...changes.map(({ move: what, by, why, at }) =>
      [`  ${words(what)}`, `by ${by}`, at.toISOString(), why ?? ''].filter(Boolean).join('  '),
    ),
  ].join('\n')
}

function reason(error: unknown): string {
  const { name, message } = (error ?? {}) as { name?: string; message?: string }
  return message === undefined ? '' : `${name ?? 'Error'}: ${message}`
}

function words(name: string): string {
  return name.replaceAll('_', ' ')
}
