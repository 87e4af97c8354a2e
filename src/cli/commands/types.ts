import type { Command } from 'commander'
import type { GateAnswer, LimitsBody } from '../../api/admin.js'
import { isOwnType } from '../../job/own-types.js'
import type { Cli, Common } from '../cli.js'
import { typeTable } from '../show/flow.js'
import { gateLines, limitWords, overrideLines, shutWords } from '../show/gates.js'
import { addGateMoves, changeGate, ends, type Gated, type LimitedOptions, limitOptions, namedFields } from './gates.js'
import { why } from './jobs.js'
import { countOf, limitsOf, rateOf, refuseNone } from './limits.js'

const ofOne = ['<type>', 'the name of the type'] as const

const gated: Gated<GateAnswer | null> = {
  what: 'type',
  argument: ofOne,
  paused: 'Pauses a type: its jobs wait, enqueue goes on.',
  resumed: 'Lets a paused type run again.',
  pause: (flow, type, options) => flow.pauseType(type, options),
  resume: (flow, type, options) => flow.resumeType(type, options),
  release: (flow, type, options) => flow.releaseLimits(type, options),
  breaker: (flow, type, body) => flow.breaker(type, body),
  json: (type, gate) => ({ type, gate }),
  words: gateWords,
}

/** `holdfast types ls|pause|resume|limit|release|breaker|reset`. */
export function addTypes(program: Command, cli: Cli): void {
  const types = program.command('types').summary('list, pause, limit and break job types')
  types.description('Shows and operates job types. What is changed stands in the audit log.')
  cli
    .watching(types, 'ls', 'Lists job types: lane, limits, how much waits, and what holds jobs back.')
    .action((options: Common) =>
      cli.show(
        options,
        async ({ flow }) => ({ types: await flow.types(), depths: (await flow.workers()).depths }),
        (found) => typeTable(cli.screen, found.types, found.depths),
      ),
    )
  const limit = cli.changing(types, 'limit', 'Sets limits of a type. What is left out stays; none takes a limit away.')
  limitOptions(limit.argument(...ofOne), 'it')
    .option('--max-running-per-key <n>', 'most jobs of each concurrency key running at once, or none')
    .option('--rate-per-key <n/time>', 'how many jobs of each concurrency key may start within a time, or none')
    .action((type: string, options: LimitedOptions & { maxRunningPerKey?: string; ratePerKey?: string }) => {
      const { maxRunningPerKey, ratePerKey } = options
      const limits: LimitsBody = {
        ...limitsOf(options),
        ...(maxRunningPerKey !== undefined && { max_running_per_key: countOf(maxRunningPerKey, '--max-running-per-key') }),
        ...(ratePerKey !== undefined && { rate_per_key: rateOf(ratePerKey, '--rate-per-key') }),
      }
      refuseNone(limits)
      return changeGate(cli, gated, type, options, (flow) => flow.limit(type, { ...limits, ...why(options), ...ends(options) }))
    })
  addGateMoves(types, cli, gated)
  cli
    .changing(types, 'reset', 'Gives settings of a type back to its definition: those that are named, or all. Its limits stay.')
    .argument(...ofOne)
    .argument('[settings...]', 'such as timeout or lane')
    .action(async (type: string, settings: string[], options: Common) => {
      const named = namedFields(settings)
      const state = await cli.using(options, ({ flow }) => flow.releaseType(type, { ...named, ...why(options) }))
      cli.answer(options, state, () => [`${type} is as its definition says`, ...overrideLines(state.overrides)].join('\n'))
    })
}

/** `holdfast pause all`. Its counterpart is `holdfast resume all`. */
export function addPause(program: Command, cli: Cli): void {
  const text =
    'Pauses every job type but those of Holdfast itself: their jobs wait, enqueue goes on. holdfast resume all takes it back.'
  cli
    .destroying(program, 'pause', text)
    .summary('pause every job type')
    .addArgument(program.createArgument('<what>', 'what is paused').choices(['all']))
    .option('--except <type...>', 'but not these')
    .action((_what: string, options: Common & { except?: string[] }) => everyType(cli, options, 'pause'))
}

/** Pauses every type that runs, or resumes every one that is paused. */
export async function everyType(cli: Cli, options: Common & { except?: string[] }, act: 'pause' | 'resume'): Promise<void> {
  await cli.confirm(options, `${act} every job type`)
  const done = await cli.using(options, async ({ flow }) => {
    const names: string[] = []
    for (const { type, gate } of await flow.types()) {
      const paused = (gate?.paused ?? null) !== null
      if (paused === (act === 'pause') || options.except?.includes(type)) continue
      // Webhooks of alerts and bulk actions are what people need while everything else stands still.
      if (isOwnType(type)) continue
      await (act === 'pause' ? flow.pauseType(type, why(options)) : flow.resumeType(type, why(options)))
      names.push(type)
    }
    return names
  })
  const said = act === 'pause' ? 'paused' : 'resumed'
  cli.answer(options, { types: done }, () => (done.length === 0 ? `No type had to be ${said}.` : `${said}: ${done.join(', ')}`))
}

function gateWords(type: string, gate: GateAnswer | null): string {
  if (gate === null) return `${type}  no limits`
  return [[type, ...limitWords(gate), ...shutWords(gate)].join('  '), ...gateLines(gate)].join('\n')
}
