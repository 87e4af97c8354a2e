import { type Command, Option } from 'commander'
import type { Batch } from '../../batch/batch.js'
import { HoldfastError } from '../../errors.js'
import { answer, type Common, looking, using } from '../operating.js'
import { bold, dim } from '../print.js'

const statuses = ['live', 'completed', 'dead', 'cancelled', 'discarded'] as const

/** `holdfast batches ls|show`. */
export function addBatches(program: Command): void {
  const batches = program.command('batches').summary('list batches and show how far each is')
  batches.description('Shows batches of jobs, with their members by status.')
  looking(batches, 'ls', 'Lists batches, newest first.')
    .addOption(new Option('--limit <n>', 'how many, 1 to 100').default(20).argParser(Number))
    .action(ls)
  looking(batches, 'show', 'Shows one batch: its members by status, and its callbacks.')
    .argument('<id>', 'the id of the batch')
    .action(show)
}

async function ls(options: Common & { limit: number }): Promise<void> {
  const found = await using(options, (holdfast) => holdfast.batches.list({ limit: options.limit }))
  answer(options, found, () => (found.length === 0 ? 'There are no batches.' : found.map(line).join('\n')))
}

async function show(id: string, options: Common): Promise<void> {
  const batch = await using(options, (holdfast) => holdfast.batches.get(id))
  if (!batch) throw new HoldfastError('not_found', `no batch ${id} is kept`, { field: 'id' })
  answer(options, batch, () => whole(batch))
}

function line(batch: Batch): string {
  const { id, name, status, open, total, createdAt } = batch
  const counts = statuses.filter((one) => batch[one] > 0).map((one) => `${one}: ${batch[one]}`)
  const notes = open ? [dim('open')] : []
  return [bold(id), ...(name === null ? [] : [name]), status, `${total} jobs`, ...counts, createdAt.toISOString(), ...notes].join(
    '  ',
  )
}

function whole(batch: Batch): string {
  const { waitsFor, cancelledBy, cancelledWhy, callbacks } = batch
  return [
    line(batch),
    ...(waitsFor === null ? [] : [`  waits for ${waitsFor}`]),
    ...(cancelledBy === null ? [] : [`  cancelled by ${cancelledBy}${cancelledWhy === null ? '' : `: ${cancelledWhy}`}`]),
    ...callbacks.map(({ round, kind, job }) => `  round ${round}  ${kind}  ${job}`),
  ].join('\n')
}
