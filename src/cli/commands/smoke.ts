import { userInfo } from 'node:os'
import type { Command } from 'commander'
import type { Duration } from '../../job/duration.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { smokeLines } from '../show/builds.js'

interface SmokeCommand extends Common {
  build?: string
  types?: string[]
  within?: string
}

/** `holdfast smoke ./handlers.js`. */
export function addSmoke(program: Command, cli: Cli): void {
  cli
    .database(
      program,
      'smoke',
      'Runs one job of each type that has a smoke test, on a worker of the build and of no other, and looks at what it did.\n' +
        'Ends with 0 where all passed, with 3 where one failed or none was run. docs/canary.md has an example.',
    )
    .summary('run one job of each type on a new build')
    .argument('<file>', 'the file with the handlers, such as ./handlers.js')
    .option('--build <name>', 'the build that runs them; git: the commit that is checked out (HOLDFAST_BUILD)')
    .option('--types <type...>', 'only these of the types in the file')
    .option('--within <time>', 'how long a job may take, such as 30s', '1m')
    .option('--by <name>', 'who does it, for the audit log (default: the user of this machine)')
    .addHelpText('after', examples('smoke ./handlers.js --build 2.4.1', 'smoke ./handlers.js --build 2.4.1 --types send_email'))
    .action(async (file: string, { build, types, within, by, ...options }: SmokeCommand) => {
      const { smoke } = await import('../../worker/smoke.js')
      const how = { ...defined({ build, types, within: within as Duration | undefined }), by: by ?? userInfo().username }
      const report = await cli.usingDatabase(options, 'to run jobs', (holdfast) => smoke(holdfast, file, how))
      cli.answer(options, report, () => smokeLines(report))
      if (!report.passed) cli.exitCode = 3
    })
}
