import type { Command } from 'commander'
import type { BreakerBody, DependencyAnswer } from '../../api/admin.js'
import { HoldfastError } from '../../errors.js'
import { didYouMean } from '../../job/nearest.js'
import type { Cli, Common } from '../cli.js'
import type { Operator } from '../operator/operator.js'
import type { Screen } from '../screen.js'
import { breakerActions, gateLines, limitWords, shutWords } from '../show/gates.js'
import { why } from './jobs.js'
import { limitsOf, refuseNone, type TypedLimits } from './limits.js'

const ofOne = ['<name>', 'the name of the dependency'] as const
const columns = [{ head: 'NAME' }, { head: 'LIMITS' }, { head: 'SHUT', cut: true }, { head: 'USED BY', cut: true }]

/** `holdfast dependencies ls|show|limit|pause|resume|breaker`. */
export function addDependencies(program: Command, cli: Cli): void {
  const dependencies = program.command('dependencies').summary('limit, pause and break what several types use')
  dependencies.description(
    'Shows and operates what several types use and share the limits of. What is changed stands in the audit log.',
  )
  cli
    .watching(dependencies, 'ls', 'Lists dependencies: their limits, how many jobs run, and what holds jobs back.')
    .action((options: Common) =>
      cli.show(
        options,
        async ({ flow }) => ({ dependencies: await flow.dependencies() }),
        ({ dependencies: all }) => cli.screen.table(columns, all.map(row), 'There are no dependencies.'),
      ),
    )
  cli
    .watching(dependencies, 'show', 'Shows one dependency, the types that use it, and its breaker.')
    .argument(...ofOne)
    .action((name: string, options: Common) =>
      cli.show(
        options,
        (operator) => one(operator, name),
        (state) => lines(cli.screen, state),
      ),
    )
  const act = async (options: Common, change: (operator: Operator) => Promise<DependencyAnswer>) => {
    const state = await cli.using(options, change)
    cli.answer(options, state, () => lines(cli.screen, state))
  }
  cli
    .changing(dependencies, 'limit', 'Sets limits of a dependency. What is left out stays; none takes a limit away.')
    .argument(...ofOne)
    .option('--max-running <n>', 'most jobs of all types that use it running at once, or none')
    .option('--rate <n/time>', 'how many of them may start within a time, such as 100/1s, or none')
    .option('--breaker <share>', 'the share of failed attempts that opens its breaker, such as 0.5, or off')
    .option('--create', 'make the dependency where there is none of that name')
    .action((name: string, options: Common & TypedLimits & { create?: boolean }) => {
      const limits = limitsOf(options)
      refuseNone(limits)
      const created = options.create === undefined ? {} : { create: options.create }
      return act(options, ({ flow }) => flow.limitDependency(name, { ...limits, ...created, ...why(options) }))
    })
  cli
    .changing(dependencies, 'pause', 'Pauses a dependency: jobs of all types that use it wait.')
    .argument(...ofOne)
    .action((name: string, options: Common) => act(options, ({ flow }) => flow.pauseDependency(name, why(options))))
  cli
    .changing(dependencies, 'resume', 'Lets the types that use a paused dependency run again.')
    .argument(...ofOne)
    .action((name: string, options: Common) => act(options, ({ flow }) => flow.resumeDependency(name, why(options))))
  cli
    .changing(
      dependencies,
      'breaker',
      'Opens, closes or holds the breaker of a dependency, or releases it to open and close by itself.',
    )
    .argument(...ofOne)
    .addArgument(dependencies.createArgument('<action>', 'what to do').choices(Object.keys(breakerActions)))
    .action((name: string, action: keyof typeof breakerActions, options: Common) => {
      const body: BreakerBody = { action: breakerActions[action], ...why(options) }
      return act(options, ({ flow }) => flow.dependencyBreaker(name, body))
    })
}

async function one({ flow }: Operator, name: string): Promise<DependencyAnswer> {
  const all = await flow.dependencies()
  const found = all.find((state) => state.name === name)
  if (found) return found
  const names = all.map((state) => state.name)
  const said = `there is no dependency named "${name}"${didYouMean(name, names)}`
  throw new HoldfastError('unknown_dependency', said, { field: 'name' })
}

function row(state: DependencyAnswer): string[] {
  const users = state.types.length === 0 ? 'no type' : state.types.join(', ')
  return [state.name, limitWords(state).join(', '), shutWords(state).join(', '), users]
}

function lines(screen: Screen, state: DependencyAnswer): string {
  const users = state.types.length === 0 ? 'no type uses it' : `used by ${state.types.join(', ')}`
  const head = [screen.bold(state.name), ...limitWords(state), ...shutWords(state), screen.dim(users)].join('  ')
  return [head, ...gateLines(state)].join('\n')
}
