import type { Command } from 'commander'
import { HoldfastError } from '../../errors.js'
import type { BreakerAction, Flow } from '../../flow/flow.js'
import type { DependencyState } from '../../flow/states.js'
import { formatDuration } from '../../job/duration.js'
import type { DependencyLimits } from '../../job/limits.js'
import { answer, type Common, changing as changingUnder, looking, me, using } from '../operating.js'
import { bold, dim } from '../print.js'

interface Limited extends Common {
  maxRunning?: string
  rate?: string
  breaker?: string
  create?: boolean
}

const actions: Record<string, BreakerAction> = {
  open: 'open',
  close: 'close',
  'hold-open': 'hold_open',
  'hold-closed': 'hold_closed',
  release: 'release',
}

/** `holdfast dependencies ls|show|limit|pause|resume|breaker`. */
export function addDependencies(program: Command): void {
  const dependencies = program.command('dependencies').summary('limit, pause and break what several types use')
  dependencies.description(
    'Shows and operates what several types use and share the limits of. What is changed stands in the audit log.',
  )
  const changing = (name: string, description: string) =>
    changingUnder(dependencies, name, description).argument('<name>', 'the name of the dependency')
  looking(dependencies, 'ls', 'Lists dependencies: their limits, how many jobs run, and what holds jobs back.').action(ls)
  looking(dependencies, 'show', 'Shows one dependency, the types that use it, and its breaker.')
    .argument('<name>', 'the name of the dependency')
    .action((name, options) => act(name, options, async () => {}))
  changing('limit', 'Sets limits of a dependency. What is left out stays; none takes a limit away.')
    .option('--max-running <n>', 'most jobs of all types that use it running at once, or none')
    .option('--rate <n/time>', 'how many of them may start within a time, such as 100/1s, or none')
    .option('--breaker <share>', 'the share of failed attempts that opens its breaker, such as 0.5, or off')
    .option('--create', 'make the dependency where there is none of that name')
    .action((name, options: Limited) =>
      act(name, options, (flow) =>
        flow.limitDependency(name, limitsOf(options), me(options), { create: options.create ?? false }),
      ),
    )
  changing('pause', 'Pauses a dependency: jobs of all types that use it wait.').action((name, options) =>
    act(name, options, (flow) => flow.pauseDependency(name, me(options))),
  )
  changing('resume', 'Lets the types that use a paused dependency run again.').action((name, options) =>
    act(name, options, (flow) => flow.resumeDependency(name, me(options))),
  )
  changing('breaker', 'Opens, closes or holds the breaker of a dependency, or releases it to open and close by itself.')
    .addArgument(dependencies.createArgument('<action>', 'what to do').choices(Object.keys(actions)))
    .action((name, action, options) =>
      act(name, options, (flow) => flow.dependencyBreaker(name, actions[action] as BreakerAction, me(options))),
    )
}

async function ls(options: Common): Promise<void> {
  const all = await using(options, ({ flow }) => flow.dependencies())
  answer(options, all, () => (all.length === 0 ? 'There are no dependencies.' : all.map(line).join('\n')))
}

/** Answers with the dependency as it is after the change. */
async function act(name: string, options: Common, change: (flow: Flow) => Promise<void>): Promise<void> {
  const state = await using(options, async ({ flow }) => {
    await change(flow)
    return flow.dependency(name)
  })
  answer(options, state, () => whole(state))
}

function limitsOf({ maxRunning, rate, breaker }: Limited): DependencyLimits {
  if (maxRunning === undefined && rate === undefined && breaker === undefined) {
    throw wrong('limits', 'no limit was given: pass --max-running 10, --rate 100/1s or --breaker 0.5')
  }
  return {
    ...(maxRunning !== undefined && { maxRunning: maxRunning === 'none' ? null : Number(maxRunning) }),
    ...(rate !== undefined && { rate: rate === 'none' ? null : rateOf(rate) }),
    ...(breaker !== undefined && { breaker: breaker === 'off' ? (false as const) : { share: Number(breaker) } }),
  }
}

function rateOf(given: string): { count: number; per: string } {
  const [, count, per] = /^(\d+)\/(\S+)$/.exec(given) ?? []
  if (count !== undefined && per !== undefined) return { count: Number(count), per }
  throw wrong('--rate', `--rate is "${given}"; it must be a number and a time, such as 100/1s, or none`)
}

function wrong(field: string, problem: string): HoldfastError {
  return new HoldfastError('invalid_option', problem, { field })
}

function line({ name, types, maxRunning, rate, held, paused, breaker }: DependencyState): string {
  const limits = [
    maxRunning === null ? `${held} running` : `${held} of ${maxRunning} running`,
    ...(rate === null ? [] : [`at most ${rate.count} in ${formatDuration(rate.perMs)}`]),
  ]
  const shut = [...(paused === null ? [] : [`paused by ${paused.by}`]), ...(breaker.open ? ['breaker open'] : [])]
  const users = types.length === 0 ? 'no type uses it' : `used by ${types.join(', ')}`
  return [bold(name), ...limits, ...shut, dim(users)].join('  ')
}

function whole(state: DependencyState): string {
  const { paused, breaker } = state
  const { share, minimum, windowMs, probeMs, heldBy, reason, openedAt, nextProbeAt } = breaker
  return [
    line(state),
    ...(paused === null ? [] : [['  paused', `by ${paused.by}`, paused.at.toISOString(), paused.why ?? ''].join('  ').trimEnd()]),
    share < 1
      ? `  breaker opens above ${Math.round(share * 100)} % of at least ${minimum} attempts in ${formatDuration(windowMs)}, probes every ${formatDuration(probeMs)}`
      : '  breaker never opens by itself',
    ...(heldBy === 'nobody' ? [] : [`  an operator holds the breaker ${breaker.open ? 'open' : 'closed'}`]),
    ...(openedAt === null ? [] : [['  breaker open', `since ${openedAt.toISOString()}`, reason ?? ''].join('  ').trimEnd()]),
    ...(nextProbeAt === null ? [] : [`  next probe ${nextProbeAt.toISOString()}`]),
  ].join('\n')
}
