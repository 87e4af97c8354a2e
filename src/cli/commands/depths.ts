import type { Command } from 'commander'
import type { DepthBody, DepthsAnswer } from '../../api/flow.js'
import { formatDuration } from '../../job/duration.js'
import type { Cli, Common } from '../cli.js'
import { UsageError } from '../exit.js'
import { why } from './jobs.js'
import { countOf } from './limits.js'

type One = DepthsAnswer['limits'][number]
type Count = 'soft' | 'hard' | 'scheduled' | 'retrying' | 'unapproved' | 'blocked'

interface Given extends Common, Partial<Record<Count | 'oldest', string>> {
  lane?: string
  type?: string
}

const counts: readonly Count[] = ['soft', 'hard', 'scheduled', 'retrying', 'unapproved', 'blocked']

const columns = [
  ...[{ head: 'OF' }, { head: 'WAITING', right: true }, { head: 'SOFT', right: true }, { head: 'HARD', right: true }],
  ...[
    { head: 'OLDEST', right: true },
    { head: 'AT MOST', right: true },
    { head: 'BESIDE THEM', cut: true },
  ],
]

/** `holdfast depths ls|set`. */
export function addDepths(program: Command, cli: Cli): void {
  const depths = program.command('depths').summary('show and set how much may wait')
  depths.description('Shows and sets how many jobs may wait in the queue, in a lane or of a type before an enqueue is refused.')
  cli.watching(depths, 'ls', 'Lists the limits, and how much waits.').action((options: Common) =>
    cli.show(
      options,
      async ({ flow }) => ({ limits: await flow.depthLimits() }),
      ({ limits }) => table(cli, limits),
    ),
  )
  const set = cli.changing(depths, 'set', 'Changes the limits that are named; those of the whole queue without --lane or --type.')
  set.option('--lane <lane>', 'what waits in this lane').option('--type <type>', 'what waits of this type')
  set.option('--soft <jobs>', 'from here on low priorities are refused; none: no limit, as of all that follow')
  set.option('--hard <jobs>', 'from here on nothing is taken')
  set.option('--oldest <time>', 'how long the oldest may have waited, such as 10m')
  set.option('--scheduled <jobs>', 'most jobs that wait for a time of their own')
  set.option('--retrying <jobs>', 'most jobs that wait for their next attempt')
  set.option('--unapproved <jobs>', 'most jobs that wait for an approval')
  set.option('--blocked <jobs>', 'most jobs that wait for a signal, another job or a newer worker')
  set.action(async (options: Given) => {
    const [scope, changes] = [scopeOf(options), changesOf(options)]
    if (Object.keys(changes).length === 0) throw new UsageError('no limit was given: pass --soft 50000 or another one', 'depths')
    const limits = await cli.using(options, async ({ flow }) => {
      // The API takes all limits of a scope at once: those that are not named stay.
      const found = (await flow.depthLimits()).find((one) => one.scope === scope.scope && one.name === (scope.name ?? null))
      return flow.limitDepth({ ...scope, ...(found && standing(found)), ...changes, ...why(options) })
    })
    cli.answer(options, { limits }, () => table(cli, limits))
  })
}

function scopeOf({ lane, type }: Given): Pick<DepthBody, 'scope' | 'name'> {
  if (lane !== undefined && type !== undefined)
    throw new UsageError('--lane and --type exclude each other: pass one of them', '--lane')
  if (lane !== undefined) return { scope: 'lane', name: lane }
  return type === undefined ? { scope: 'queue' } : { scope: 'type', name: type }
}

function changesOf(given: Given): Omit<DepthBody, 'scope'> {
  const named = counts.filter((name) => given[name] !== undefined)
  return {
    ...Object.fromEntries(named.map((name) => [name, countOf(given[name] as string, `--${name}`)])),
    ...(given.oldest !== undefined && { oldest: given.oldest === 'none' ? null : given.oldest }),
  }
}

function standing({ soft, hard, oldest_ms, most }: One): Omit<DepthBody, 'scope'> {
  return { soft, hard, oldest: oldest_ms, ...most }
}

function table(cli: Cli, limits: readonly One[]): string {
  return cli.screen.table(columns, limits.map(row), 'Nothing is limited.')
}

function row({ scope, name, waiting, soft, hard, waits_ms, oldest_ms, counts: beside, most }: One): string[] {
  const time = (ms: number | null) => (ms === null ? '' : formatDuration(Math.max(1_000, Math.round(ms / 1_000) * 1_000)))
  const limited = Object.entries(most).filter(([, limit]) => limit !== null)
  const rest = limited.map(([what, limit]) => `${beside[what as keyof typeof beside]} of ${limit} ${what}`)
  const count = (limit: number | null) => (limit === null ? '' : String(limit))
  return [
    ...[name === null ? scope : `${scope} ${name}`, String(waiting), count(soft), count(hard)],
    ...[time(waits_ms), time(oldest_ms), rest.join(', ')],
  ]
}
