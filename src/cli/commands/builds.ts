import type { Command } from 'commander'
import type { CanaryAnswer } from '../../api/builds.js'
import { monotonicMs, sleep } from '../../clock.js'
import { type Duration, toMilliseconds } from '../../job/duration.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { buildTable, canaryLines } from '../show/builds.js'
import { why } from './jobs.js'

/** What scripts go by: a failed command ends with 1 and a wrong one with 2, so that no verdict can be mistaken for them. */
const codes = { go: 0, wait: 3, 'roll back': 4 } as const
const lookEveryMs = 5_000

/** `holdfast builds ls|drain|resume`. */
export function addBuilds(program: Command, cli: Cli): void {
  const builds = program.command('builds').summary('list which code workers run, and drain it')
  cli.watching(builds, 'ls', 'Lists the builds of workers, the newest first.').action((options: Common) =>
    cli.show(
      options,
      async ({ flow }) => ({ builds: await flow.builds.list() }),
      (found) => buildTable(cli.screen, found.builds),
    ),
  )
  cli
    .changing(
      builds,
      'drain',
      'Tells every worker of a build to finish what it has and to claim no more, also those that start later.',
    )
    .argument('<build>', 'the name of the build')
    .action(async (build: string, options: Common) => {
      await cli.using(options, ({ flow }) => flow.builds.drain(build, why(options)))
      cli.answer(options, { build, drained: true }, () => `The workers of ${build} finish what they have.`)
    })
  cli
    .changing(builds, 'resume', 'Lets the workers of a build claim again.')
    .argument('<build>', 'the name of the build')
    .action(async (build: string, options: Common) => {
      await cli.using(options, ({ flow }) => flow.builds.resume(build, why(options)))
      cli.answer(options, { build, drained: false }, () => `The workers of ${build} claim again.`)
    })
}

/** `holdfast canary`. */
export function addCanary(program: Command, cli: Cli): void {
  cli
    .looking(
      program,
      'canary',
      'Says whether a build may go on to its next stage: go, wait or roll back, compared with the build before it.\n' +
        'Ends with 0 for go, 3 for wait, 4 for roll back. docs/canary.md has the criteria.',
    )
    .argument('<build>', 'the name of the build')
    .summary('judge a new build beside the one before it')
    .option(
      '--baseline <build>',
      'what it is compared with (default: the build that ran most of the same types in the hour before)',
    )
    .option('--within <time>', 'ask again until it is go or roll back, for at most that long, such as 20m')
    .addHelpText('after', examples('canary 2.4.1', 'canary 2.4.1 --within 20m || holdfast builds drain 2.4.1'))
    .action(async (build: string, { baseline, within, ...options }: Common & { baseline?: string; within?: string }) => {
      const until = monotonicMs() + (within === undefined ? 0 : toMilliseconds(within as Duration, '--within'))
      const found = await cli.using(options, async ({ flow }) => {
        for (;;) {
          const judged = await flow.builds.canary(build, defined({ baseline }))
          const leftMs = until - monotonicMs()
          if (judged.verdict !== 'wait' || leftMs <= 0 || cli.io.stop.aborted) return judged
          await sleep(Math.min(lookEveryMs, leftMs), { signal: cli.io.stop })
        }
      })
      cli.answer(options, found, () => canaryLines(found))
      cli.exitCode = codes[found.verdict as CanaryAnswer['verdict']]
    })
}
