import type { Command } from 'commander'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { checkUpLines } from '../show/doctor.js'

const codes = { fine: 0, warnings: 1, errors: 2 } as const

/** `holdfast doctor`. */
export function addDoctor(program: Command, cli: Cli): void {
  cli
    .looking(
      program,
      'doctor',
      'Looks for what endangers jobs or makes them slow: settings of PostgreSQL, connections, dead rows, long transactions, statistics,\n' +
        'indexes, clocks, notifications, retention, lanes and the schema; says what to do about each. It changes nothing.\n' +
        'Ends with 0 where all is well, 1 with warnings, 2 with errors. docs/doctor.md explains every finding.',
    )
    .summary('look for what is wrong, and say what to do')
    .option('--transaction <time>', 'how long a transaction may be open (default: 5m)')
    .addHelpText('after', examples('doctor', 'doctor --transaction 30s', 'doctor --json | jq ".findings[].code"'))
    .action(async ({ transaction, ...options }: Common & { transaction?: string }) => {
      const found = await cli.using(options, (operator) => operator.doctor(defined({ transaction })))
      cli.answer(options, found, () => checkUpLines(cli.screen, found))
      cli.exitCode = codes[found.verdict]
    })
}
