import { type Command, Option } from 'commander'
import { alertKinds, type NewTargetAnswer, type RuleBody } from '../../api/alerts.js'
import { formatDuration } from '../../job/duration.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { ago, type Screen } from '../screen.js'
import type { Column } from '../table.js'
import { examples, why } from './jobs.js'

/** `holdfast alerts ls|rules|set|drop` and `holdfast alerts targets ls|create|test|rotate|delete`. */
export function addAlerts(program: Command, cli: Cli): void {
  const alerts = program.command('alerts').summary('list what is wrong, what counts as that, and who is called about it')
  cli.watching(alerts, 'ls', 'Lists the alerts that fire.').action((options: Common) =>
    cli.show(
      options,
      ({ alerts: all }) => all.get(),
      ({ firing }) => {
        const rows = firing.map((one) => [one.rule, one.subject, String(one.value), String(one.threshold), ago(one.since)])
        return cli.screen.table(firingColumns, rows, 'Nothing is wrong.')
      },
    ),
  )
  cli.looking(alerts, 'rules', 'Lists the rules that say what is wrong.').action((options: Common) =>
    cli.show(
      options,
      ({ alerts: all }) => all.get(),
      ({ rules }) => {
        const rows = rules.map(({ name, kind, threshold, type, hold_ms, enabled }) => [
          ...[name, kind, String(threshold), type ?? 'all', formatDuration(hold_ms), enabled ? 'on' : 'off'],
        ])
        return cli.screen.table(ruleColumns, rows, 'There are no rules.')
      },
    ),
  )
  cli
    .changing(alerts, 'set', 'Makes a rule, or changes its named fields.')
    .argument('<rule>', 'the name of the rule')
    .addOption(new Option('--kind <kind>', 'what it watches; needed for a new one').choices(alertKinds))
    .addOption(new Option('--threshold <n>', 'it fires above this').argParser(Number))
    .option('--type <name>', 'only of this job type')
    .option('--hold <time>', 'how long it has to be so, such as 5m')
    .addOption(new Option('--enabled <state>', 'whether it is evaluated').choices(['on', 'off']))
    .addHelpText('after', examples('alerts set deep --kind depth --threshold 10000 --hold 5m'))
    .action(async (name: string, { kind, threshold, type, hold, enabled, ...options }) => {
      const on = enabled === undefined ? undefined : enabled === 'on'
      const rule = defined({ ...{ kind, threshold, type, hold }, enabled: on }) as RuleBody
      const set = await cli.using(options, (operator) => operator.alerts.setRule(name, { ...rule, ...why(options) }))
      cli.answer(options, set, () => `${name} fires above ${set.threshold} (${set.kind})${set.enabled ? '' : ', but is off'}.`)
    })
  cli
    .destroying(alerts, 'drop', 'Removes a rule.')
    .argument('<rule>', 'the name of the rule')
    .action(async (name: string, options: Common) => {
      await cli.confirm(options, `remove the rule ${name}`)
      await cli.using(options, (operator) => operator.alerts.dropRule(name, why(options)))
      cli.answer(options, { name, removed: true }, () => `${name} is removed.`)
    })
  addTargets(alerts, cli)
}

function addTargets(alerts: Command, cli: Cli): void {
  const targets = alerts.command('targets').summary('list, create, test and delete the addresses that are called')
  const ofOne = ['<id>', 'the number of the target, as ls shows it', Number] as const
  cli.looking(targets, 'ls', 'Lists the addresses that are called about trouble.').action((options: Common) =>
    cli.show(
      options,
      async ({ alerts: all }) => ({ targets: await all.targets() }),
      (found) => {
        const rows = found.targets.map(({ id, url, rules, created_at, created_by }) => [
          ...[String(id), url, rules === null ? 'all' : rules.join(', '), created_by, ago(created_at)],
        ])
        return cli.screen.table(targetColumns, rows, 'Nobody is called.')
      },
    ),
  )
  cli
    .changing(
      targets,
      'create',
      'Calls an address about trouble from now on, and prints its secret, which cannot be shown again.',
    )
    .argument('<url>', 'where it is, such as https://hooks.example.com/holdfast')
    .option('--rule <rule...>', 'only about these rules (default: all)')
    .addHelpText('after', examples('alerts targets create https://hooks.example.com/holdfast --rule deep dead-letters'))
    .action(async (url: string, { rule, ...options }: Common & { rule?: string[] }) => {
      const body = { url, ...defined({ rules: rule }), ...why(options) }
      const made = await cli.using(options, (operator) => operator.alerts.addTarget(body))
      cli.answer(options, made, () => shownOnce(cli.screen, made))
    })
  cli
    .changing(targets, 'test', 'Calls an address as if there were trouble. A worker with --alerts does so.')
    .argument(...ofOne)
    .action(async (id: number, options: Common) => {
      const { job } = await cli.using(options, (operator) => operator.alerts.testTarget(id, why(options)))
      cli.answer(options, { job }, () => `Job ${job} calls target ${id}; holdfast jobs show ${job} says whether it was answered.`)
    })
  cli
    .changing(targets, 'rotate', 'Signs with a new secret, which cannot be shown again; the old one signs too for a while.')
    .argument(...ofOne)
    .option('--grace <time>', 'for how long the old one signs too (default: 1d)')
    .action(async (id: number, { grace, ...options }: Common & { grace?: string }) => {
      const body = { ...defined({ grace }), ...why(options) }
      const made = await cli.using(options, (operator) => operator.alerts.rotateTarget(id, body))
      cli.answer(options, made, () => shownOnce(cli.screen, made))
    })
  cli
    .destroying(targets, 'delete', 'Calls an address no more.')
    .argument(...ofOne)
    .action(async (id: number, options: Common) => {
      await cli.confirm(options, `delete target ${id}`)
      await cli.using(options, (operator) => operator.alerts.removeTarget(id, why(options)))
      cli.answer(options, { id, removed: true }, () => `Target ${id} is called no more.`)
    })
}

function shownOnce(screen: Screen, { id, url, secret }: NewTargetAnswer): string {
  return `${secret}\n${screen.dim(`Target ${id} at ${url}. The secret cannot be shown again.`)}`
}

const firingColumns = columns(['RULE', 'SUBJECT', 'VALUE', 'THRESHOLD', 'SINCE'], { right: [2, 3, 4], cut: [1] })
const ruleColumns = columns(['RULE', 'KIND', 'THRESHOLD', 'TYPE', 'HOLD', 'STATE'], { right: [2], cut: [3] })
const targetColumns = columns(['TARGET', 'URL', 'RULES', 'BY', 'AGE'], { right: [0, 4], cut: [1, 2, 3] })

function columns(heads: readonly string[], { right, cut }: Record<'right' | 'cut', readonly number[]>): Column[] {
  return heads.map((head, at) => ({ head, right: right.includes(at), cut: cut.includes(at) }))
}
