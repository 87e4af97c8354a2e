import type { Command } from 'commander'
import type { SettingsAnswer } from '../../api/settings.js'
import { isTime } from '../../flow/settings.js'
import { formatDuration } from '../../job/duration.js'
import type { Cli, Common } from '../cli.js'
import { examples } from '../examples.js'
import { ago } from '../screen.js'
import { why } from './jobs.js'

type One = SettingsAnswer['settings'][number]

const columns = [
  { head: 'SETTING' },
  { head: 'COUNTS', right: true },
  { head: 'OPERATOR', right: true },
  { head: 'CODE', right: true },
  { head: 'STANDARD', right: true },
  { head: 'CHANGED', cut: true },
]

/** `holdfast settings ls|set|release`. */
export function addSettings(program: Command, cli: Cli): void {
  const settings = program.command('settings').summary('show, set and release settings of the whole installation')
  settings.description('Shows and sets what counts for every worker and server. What is changed stands in the audit log.')
  const ofOne = ['<name>', 'the name of the setting'] as const
  const change = async (name: string, value: string | number | null, options: Common) => {
    const all = await cli.using(options, ({ flow }) => flow.setSetting({ name, value, ...why(options) }))
    const one = all.find((setting) => setting.name === name) as One
    cli.answer(options, one, () => cli.screen.table(columns, [row(one)], ''))
  }
  cli
    .watching(settings, 'ls', 'Lists the settings: what counts, and what an operator, the code and nobody says.')
    .action((options: Common) =>
      cli.show(
        options,
        async ({ flow }) => ({ settings: await flow.settings() }),
        (found) => cli.screen.table(columns, found.settings.map(row), 'There are no settings.'),
      ),
    )
  cli
    .changing(settings, 'set', 'Sets one of them, until it is released.')
    .argument(...ofOne)
    .argument('<value>', 'a time such as 14d, or a number')
    .addHelpText('after', examples('settings set retention_completed 14d --why "the auditors asked"'))
    .action((name: string, value: string, options: Common) =>
      change(name, !isTime(name) && /^\d+$/.test(value) ? Number(value) : value, options),
    )
  cli
    .changing(settings, 'release', 'Gives one of them back to the code.')
    .argument(...ofOne)
    .action((name: string, options: Common) => change(name, null, options))
}

function row({ name, value, operator, code, standard, changed }: One): string[] {
  const shown = (one: number | null) => (one === null ? '' : isTime(name) ? formatDuration(one) : String(one))
  const by = changed === null ? '' : `${ago(changed.at)} by ${changed.by}${changed.why ? `: ${changed.why}` : ''}`
  return [name, shown(value), shown(operator), shown(code), shown(standard), by]
}
