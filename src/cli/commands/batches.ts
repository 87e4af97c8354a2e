import type { Command } from 'commander'
import type { BatchAnswer } from '../../api/batches.js'
import { HoldfastError } from '../../errors.js'
import { type Cli, type Common, limitOption } from '../cli.js'
import { defined } from '../defined.js'
import { ago, type Screen } from '../screen.js'
import { more } from '../show/jobs.js'
import { why } from './jobs.js'

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

/** `holdfast batches ls|show|cancel|retry`. */
export function addBatches(program: Command, cli: Cli): void {
  const batches = program.command('batches').summary('list batches, show how far each is, cancel and retry them')
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
