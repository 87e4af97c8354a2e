import type { Command } from 'commander'
import { type BatchAnswer, type BatchBody, batchRequest, type CallbackBody } from '../../api/batches.js'
import { type JobBody, jobRequest as oneJob } from '../../api/jobs.js'
import type { ClientBatch } from '../../client/batch-body.js'
import type { ClientEnqueued } from '../../client/stored.js'
import { HoldfastError } from '../../errors.js'
import type { JobRequest } from '../../job/type.js'
import { jobRequest } from '../../server/routes/job-request.js'
import { type Cli, type Common, limitOption, parsed } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { UsageError } from '../exit.js'
import { readJsonFile } from '../json-file.js'
import { ago, type Screen } from '../screen.js'
import { more } from '../show/jobs.js'
import { why } from './jobs.js'

interface BatchOptions extends Common {
  file?: string
  name?: string
  open?: boolean
}

/** As many jobs as are stored all or none. */
const mostAtOnce = 100
const jobList = { type: 'array', items: oneJob } as const
const batchFile = { ...batchRequest, properties: { ...batchRequest.properties, jobs: jobList } } as const
const statuses = ['live', 'completed', 'dead', 'cancelled', 'discarded'] as const
const ofOne = ['<id>', 'the id of the batch'] as const
const columns = [
  { head: 'ID' },
  { head: 'NAME', cut: true },
  { head: 'STATUS' },
  { head: 'JOBS', right: true },
  ...statuses.map((head) => ({ head: head.toUpperCase(), right: true })),
  { head: 'AGE', right: true },
]

/** `holdfast batches ls|show|create|add|close|cancel|retry`. */
export function addBatches(program: Command, cli: Cli): void {
  const batches = program.command('batches').summary('make batches, show how far each is, cancel and retry them')
  batches.description('Shows and operates batches of jobs, with their members by status.')
  cli
    .watching(batches, 'ls', 'Lists batches, newest first.')
    .addOption(limitOption())
    .option('--cursor <cursor>', 'the page after this one, as an earlier page named it')
    .action((options: Common & { limit: number; cursor?: string }) =>
      cli.show(
        options,
        (operator) => operator.batches.list(defined({ limit: options.limit, cursor: options.cursor })),
        ({ batches: found, next }) => batchTable(cli.screen, found) + more(cli.screen, next),
      ),
    )
  cli
    .watching(batches, 'show', 'Shows one batch: its members by status, and its callbacks.')
    .argument(...ofOne)
    .action((id: string, options: Common) =>
      cli.show(
        options,
        async (operator) => (await operator.batches.get(id)) ?? unknown(id),
        (batch) => batchLines(cli.screen, batch),
      ),
    )
  cli
    .looking(batches, 'create', 'Stores jobs as one batch, all or none up to a hundred, and prints its id.')
    .option(
      '--file <path>',
      'its fields from a file of JSON, as POST /batches takes them, with any number of jobs; - is standard input',
    )
    .option('--name <name>', 'for people to know it by')
    .option('--open', 'it does not end before it is closed, so that jobs can be added')
    .addHelpText('after', examples('batches create --file newsletter.json --name spring', 'batches create --name spring --open'))
    .action(async (options: BatchOptions) => {
      const made = await cli.using(options, (operator) => operator.batches.create(batchOf(options)))
      const jobs = made.status === 'created' ? `${made.jobs.length} jobs were stored` : 'it was there before; nothing was done'
      cli.answer(options, made, () => `${made.id}\n${cli.screen.dim(`${jobs}; holdfast batches show ${made.id} shows it.`)}`)
    })
  cli
    .looking(batches, 'add', 'Adds jobs to a batch that has not ended.')
    .argument(...ofOne)
    .argument('[type]', 'the type of one job; left out with --file')
    .argument('[payload]', 'its payload as JSON; {} where it is left out')
    .option('--file <path>', 'a list of jobs, as POST /batches/:id/jobs takes them; - is standard input')
    .addHelpText(
      'after',
      examples('batches add <id> send_email \'{"to": "ada@example.com"}\'', 'batches add <id> --file more.json'),
    )
    .action(async (id: string, type: string | undefined, payload: string | undefined, options: BatchOptions) => {
      const jobs = jobsToAdd(type, payload, options)
      const added = await cli.using(options, async (operator) => {
        const done: ClientEnqueued[] = []
        for (let at = 0; at < jobs.length; at += mostAtOnce)
          done.push(...(await operator.batches.add(id, jobs.slice(at, at + mostAtOnce))))
        return done
      })
      cli.answer(options, { jobs: added }, () => `${added.length} jobs were added to batch ${id}.`)
    })
  cli
    .looking(batches, 'close', 'Lets a batch that was made open end with its last member.')
    .argument(...ofOne)
    .addHelpText('after', examples('batches close <id>'))
    .action(async (id: string, options: Common) => {
      await cli.using(options, (operator) => operator.batches.close(id))
      cli.answer(options, { id, closed: true }, () => `Batch ${id} ends with its last member.`)
    })
  cli
    .destroying(batches, 'cancel', 'Cancels every member of a batch that has not ended.')
    .argument(...ofOne)
    .action(async (id: string, options: Common) => {
      await cli.confirm(options, `cancel what has not ended of batch ${id}`)
      await cli.using(options, (operator) => operator.batches.cancel(id, why(options)))
      cli.answer(options, { id, done: true }, () => `Batch ${id} is being cancelled.`)
    })
  cli
    .changing(batches, 'retry', 'Replays the dead members of a batch in a round of their own.')
    .argument(...ofOne)
    .option('--confirm <type...>', 'the sensitive types among its jobs')
    .action(async (id: string, options: Common & { confirm?: string[] }) => {
      const asked = defined({ confirm: options.confirm, ...why(options) })
      const retried = await cli.using(options, (operator) => operator.batches.retry(id, asked))
      const refused = Object.entries(retried.refused).map(([because, count]) => `\n  ${count} were not: ${because}`)
      cli.answer(options, retried, () => `${retried.done} of ${retried.matched} dead jobs were replayed.${refused.join('')}`)
    })
}

/** In the names of the library, which both ways take. */
function batchOf({ file, name, open }: BatchOptions): ClientBatch {
  const {
    jobs = [],
    on_success,
    on_failure,
    on_complete,
    ...given
  } = file === undefined ? {} : readJsonFile<BatchBody>(file, batchFile)
  const callback = (job: CallbackBody | undefined) => job && jobRequest(job)
  const callbacks = { onSuccess: callback(on_success), onFailure: callback(on_failure), onComplete: callback(on_complete) }
  return { ...given, ...defined({ name, open, ...callbacks }), jobs: jobs.map((job) => jobRequest(job)) }
}

function jobsToAdd(type: string | undefined, payload: string | undefined, { file }: BatchOptions): JobRequest[] {
  if ((type === undefined) === (file === undefined)) {
    throw new UsageError('say which jobs: the type of one, such as send_email, or --file with a list of them', 'type')
  }
  if (file !== undefined) return readJsonFile<JobBody[]>(file, jobList).map((job) => jobRequest(job))
  return [{ type: type as string, payload: parsed(payload ?? '{}', 'payload') }]
}

function batchTable(screen: Screen, batches: readonly BatchAnswer[]): string {
  const rows = batches.map((batch) => [
    ...[batch.id, batch.name ?? '', batch.open ? `${batch.status}, open` : batch.status, String(batch.total)],
    ...statuses.map((one) => (batch[one] > 0 ? String(batch[one]) : '')),
    ago(batch.created_at),
  ])
  return screen.table(columns, rows, 'There are no batches.')
}

function batchLines(screen: Screen, batch: BatchAnswer): string {
  const { waits_for, cancelled_by, cancelled_why, callbacks } = batch
  const counts = statuses.filter((one) => batch[one] > 0).map((one) => `${one}: ${batch[one]}`)
  const name = batch.name === null ? '' : `  ${batch.name}`
  return [
    `${screen.bold(batch.id)}${name}  ${batch.status}${batch.open ? ', open' : ''}`,
    `  ${[`${batch.total} jobs`, ...counts].join('  ')}`,
    `  created ${batch.created_at}${batch.finished_at === null ? '' : `  ended ${batch.finished_at}`}`,
    ...(waits_for === null ? [] : [`  waits for ${waits_for}`]),
    ...(cancelled_by === null ? [] : [`  cancelled by ${cancelled_by}${cancelled_why === null ? '' : `: ${cancelled_why}`}`]),
    ...callbacks.map(({ round, kind, job }) => `  round ${round}  ${kind}  ${job}`),
  ].join('\n')
}

function unknown(id: string): never {
  throw new HoldfastError('not_found', `no batch ${id} is kept`, { field: 'id' })
}
