import type { Command } from 'commander'
import type { BreakerBody } from '../../api/admin.js'
import type { PauseBody, ReleaseBody } from '../../api/common.js'
import type { Cli, Common } from '../cli.js'
import type { Operator } from '../operator/operator.js'
import { breakerActions } from '../show/gates.js'
import { why } from './jobs.js'
import type { TypedLimits } from './limits.js'

type Flow = Operator['flow']

/** What a type and a dependency have in common: something that holds jobs back, under a name. */
export interface Gated<State> {
  /** `type` or `dependency`. */
  what: string
  /** How its name is called in the help. */
  argument: readonly [string, string]
  /** What a pause of it means to jobs. */
  paused: string
  resumed: string
  pause(flow: Flow, name: string, options: PauseBody): Promise<State>
  release(flow: Flow, name: string, options: ReleaseBody): Promise<State>
  resume(flow: Flow, name: string, options: { why?: string }): Promise<State>
  breaker(flow: Flow, name: string, body: BreakerBody): Promise<State>
  /** What is printed when one was changed: for programs, and for people. */
  json(name: string, state: State): unknown
  words(name: string, state: State): string
}

/** Changes one and says how it stands then. */
export async function changeGate<State>(
  cli: Cli,
  gated: Gated<State>,
  name: string,
  options: Common,
  change: (flow: Flow) => Promise<State>,
): Promise<void> {
  const state = await cli.using(options, ({ flow }) => change(flow))
  cli.answer(options, gated.json(name, state), () => gated.words(name, state))
}

/** `pause`, `resume` and `breaker` under a group of commands. */
export function addGateMoves<State>(group: Command, cli: Cli, gated: Gated<State>): void {
  const { what, argument, paused, resumed } = gated
  cli
    .changing(group, 'pause', paused)
    .argument(...argument)
    .option(...forOption)
    .action((name: string, options: Common & Lasting) =>
      changeGate(cli, gated, name, options, (flow) => gated.pause(flow, name, { ...why(options), ...ends(options) })),
    )
  cli
    .changing(group, 'release', `Gives limits of a ${what} back to what the code says: those that are named, or all.`)
    .argument(...argument)
    .argument('[limits...]', 'such as max_running or rate')
    .action((name: string, fields: string[], options: Common) => {
      return changeGate(cli, gated, name, options, (flow) =>
        gated.release(flow, name, { ...why(options), ...namedFields(fields) }),
      )
    })
  cli
    .changing(group, 'resume', resumed)
    .argument(...argument)
    .action((name: string, options: Common) =>
      changeGate(cli, gated, name, options, (flow) => gated.resume(flow, name, why(options))),
    )
  cli
    .changing(group, 'breaker', `Opens, closes or holds the breaker of a ${what}, or releases it to open and close by itself.`)
    .argument(...argument)
    .addArgument(group.createArgument('<action>', 'what to do').choices(Object.keys(breakerActions)))
    .action((name: string, action: keyof typeof breakerActions, options: Common) => {
      const body: BreakerBody = { action: breakerActions[action], ...why(options) }
      return changeGate(cli, gated, name, options, (flow) => gated.breaker(flow, name, body))
    })
}

/** The limits that both can have. `whose`: the jobs that are counted. */
export function limitOptions(command: Command, whose: string): Command {
  return command
    .option('--max-running <n>', `most jobs of ${whose} running at once, or none`)
    .option('--rate <n/time>', 'how many of them may start within a time, such as 100/1s, or none')
    .option('--breaker <share>', 'the share of failed attempts that opens its breaker, such as 0.5, or off')
    .option(...forOption)
}

export type LimitedOptions = Common & TypedLimits & Lasting

/** What is given back to the code; none: all of it. */
export function namedFields(fields: readonly string[]): { fields?: string[] } {
  return fields.length === 0 ? {} : { fields: fields.map((field) => field.replaceAll('-', '_')) }
}

/** What ends by itself. */
export interface Lasting {
  for?: string
}

export const forOption = ['--for <time>', 'until this time is over, such as 30m, and no longer'] as const

export function ends(options: Lasting): { for?: string } {
  return options.for === undefined ? {} : { for: options.for }
}
