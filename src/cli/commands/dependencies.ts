import type { Command } from 'commander'
import type { DependencyAnswer } from '../../api/admin.js'
import { HoldfastError } from '../../errors.js'
import { didYouMean } from '../../job/nearest.js'
import type { Cli, Common } from '../cli.js'
import type { Operator } from '../operator/operator.js'
import type { Screen } from '../screen.js'
import { gateLines, limitWords, shutWords } from '../show/gates.js'
import { addGateMoves, changeGate, ends, type Gated, type LimitedOptions, limitOptions } from './gates.js'
import { why } from './jobs.js'
import { limitsOf, refuseNone } from './limits.js'

const ofOne = ['<name>', 'the name of the dependency'] as const
const columns = [{ head: 'NAME' }, { head: 'LIMITS' }, { head: 'SHUT', cut: true }, { head: 'USED BY', cut: true }]

/** `holdfast dependencies ls|show|limit|pause|resume|release|breaker`. */
export function addDependencies(program: Command, cli: Cli): void {
  const dependencies = program.command('dependencies').summary('limit, pause and break what several types use')
  dependencies.description(
    'Shows and operates what several types use and share the limits of. What is changed stands in the audit log.',
  )
  const gated: Gated<DependencyAnswer> = {
    what: 'dependency',
    argument: ofOne,
    paused: 'Pauses a dependency: jobs of all types that use it wait.',
    resumed: 'Lets the types that use a paused dependency run again.',
    pause: (flow, name, options) => flow.pauseDependency(name, options),
    resume: (flow, name, options) => flow.resumeDependency(name, options),
    release: (flow, name, options) => flow.releaseDependency(name, options),
    breaker: (flow, name, body) => flow.dependencyBreaker(name, body),
    json: (_name, state) => state,
    words: (_name, state) => lines(cli.screen, state),
  }
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
  const limit = cli.changing(
    dependencies,
    'limit',
    'Sets limits of a dependency. What is left out stays; none takes a limit away.',
  )
  limitOptions(limit.argument(...ofOne), 'all types that use it')
    .option('--create', 'make the dependency where there is none of that name')
    .action((name: string, options: LimitedOptions & { create?: boolean }) => {
      const limits = limitsOf(options)
      refuseNone(limits)
      const created = options.create === undefined ? {} : { create: options.create }
      return changeGate(cli, gated, name, options, (flow) =>
        flow.limitDependency(name, { ...limits, ...created, ...why(options), ...ends(options) }),
      )
    })
  addGateMoves(dependencies, cli, gated)
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
