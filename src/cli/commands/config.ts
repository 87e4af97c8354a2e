import type { Command } from 'commander'
import type { Cli, Common } from '../cli.js'
import type { ConfigurationReport, ProgramName } from '../configuration.js'
import { examples } from '../examples.js'

/** `holdfast config check`. What it needs is loaded when it is run. */
export function addConfig(program: Command, cli: Cli): void {
  const config = program.command('config').summary('check the environment before something is started with it')
  config
    .command('check')
    .description(
      'Checks every variable that is set and every file that one of them names, as the programs do when they start, and lists all\n' +
        'problems at once, misspelt names too. Needs no database. Ends with 0 where there are none, and 1 otherwise.',
    )
    .addArgument(
      config.createArgument('[program]', 'what is to be started, which must have what it needs').choices(['up', 'serve', 'work']),
    )
    .option('--json', 'answer in JSON')
    .addHelpText('after', examples('config check', 'config check serve', 'config check work --json'))
    .action(async (name: ProgramName | undefined, options: Common) => {
      const { checkConfiguration } = await import('../configuration.js')
      const report = checkConfiguration(cli.io.env, name)
      cli.answer(options, report, () => inWords(cli, report))
      if (report.problems.length > 0) cli.exitCode = 1
    })
}

function inWords({ screen }: Cli, { set, problems }: ConfigurationReport): string {
  const columns = [{ head: 'VARIABLE' }, { head: 'VALUE', cut: true }, { head: 'READ BY', cut: true }]
  const rows = set.map(({ name, value, read_by }) => [name, value, read_by.join(', ')])
  const table = screen.table(columns, rows, 'No variable of Holdfast is set.')
  const said = problems.map(({ name, problem }) => `  ${screen.bold(name ?? 'the environment')} ${problem}`)
  const count = `${problems.length} problem${problems.length === 1 ? '' : 's'}:`
  return [table, '', ...(problems.length === 0 ? [screen.green('No problems.')] : [screen.red(count), ...said])].join('\n')
}
