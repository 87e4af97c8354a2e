import { type Command, Option } from 'commander'
import {
  alertKinds,
  type NewTargetAnswer,
  type RuleAnswer,
  type RuleBody,
  severities,
  type TargetBody,
  targetForms,
} from '../../api/alerts.js'
import { wallMs } from '../../clock.js'
import { type Duration, formatDuration, toMilliseconds } from '../../job/duration.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { UsageError } from '../exit.js'
import { ago, type Screen } from '../screen.js'
import type { Column } from '../table.js'
import { why } from './jobs.js'

/** `holdfast alerts ls|rules|set|silence|drop` and `holdfast alerts targets ls|create|test|rotate|delete`. */
export function addAlerts(program: Command, cli: Cli): void {
  const alerts = program.command('alerts').summary('list what is wrong, what counts as that, and who is notified about it')
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
        const rows = rules.map((rule) => [
          ...[rule.name, rule.kind, String(rule.threshold), rule.type ?? 'all', formatDuration(rule.for_ms)],
          ...[formatDuration(rule.hold_ms), rule.severity, stateOf(rule)],
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
    .option('--for <time>', 'how long it has to be so before it fires, such as 5m')
    .option('--hold <time>', 'how long it has to be over before the alert is, such as 5m')
    .addOption(new Option('--min-priority <n>', 'of this priority and those above').argParser(Number))
    .addOption(new Option('--severity <severity>', 'how bad it is').choices(severities))
    .addOption(new Option('--enabled <state>', 'whether it is evaluated').choices(['on', 'off']))
    .addHelpText('after', examples('alerts set deep --kind depth --threshold 10000 --for 5m'))
    .action(async (name: string, { kind, threshold, type, for: lasts, hold, minPriority, severity, enabled, ...options }) => {
      const on = enabled === undefined ? undefined : enabled === 'on'
      const fields = { kind, threshold, type, for: lasts, hold, min_priority: minPriority, severity, enabled: on }
      const rule = defined(fields) as RuleBody
      const set = await cli.using(options, (operator) => operator.alerts.setRule(name, { ...rule, ...why(options) }))
      cli.answer(options, set, () => `${name} fires above ${set.threshold} (${set.kind})${set.enabled ? '' : ', but is off'}.`)
    })
  cli
    .changing(alerts, 'silence', 'Calls nobody about what a rule finds, for a time. What still goes on then is told.')
    .argument('<rule>', 'the name of the rule')
    .option('--for <time>', 'for how long, such as 2h; 0s ends a silence', '1h')
    .option('--until <time>', 'or until then, such as 2030-01-31T09:00:00Z')
    .addHelpText('after', examples('alerts silence depth --for 2h --why "the import runs"'))
    .action(async (name: string, { for: lasts, until, ...options }: Common & { for: string; until?: string }) => {
      const ends = until === undefined ? wallMs() + toMilliseconds(lasts as Duration, 'for') : Date.parse(until)
      if (Number.isNaN(ends)) throw new UsageError('--until is no time; give one such as 2030-01-31T09:00:00Z')
      const silenced = ends > wallMs() ? new Date(ends).toISOString() : null
      const body = { silenced_until: silenced, ...why(options) }
      const set = await cli.using(options, (operator) => operator.alerts.setRule(name, body))
      cli.answer(options, set, () =>
        silenced === null ? `${name} notifies again.` : `${name} notifies nobody until ${silenced}.`,
      )
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
  const targets = alerts.command('targets').summary('list, create, test and delete the addresses that are notified')
  const ofOne = ['<id>', 'the number of the target, as ls shows it', Number] as const
  cli.looking(targets, 'ls', 'Lists the addresses that are notified about trouble.').action((options: Common) =>
    cli.show(
      options,
      async ({ alerts: all }) => ({ targets: await all.targets() }),
      (found) => {
        const rows = found.targets.map(({ id, url, form, rules, created_at, created_by }) => [
          ...[String(id), url, form, rules === null ? 'all' : rules.join(', '), created_by, ago(created_at)],
        ])
        return cli.screen.table(targetColumns, rows, 'Nobody is notified.')
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
    .addOption(new Option('--form <form>', 'how what is sent looks').choices(targetForms).default('webhook'))
    .option('--routing-key <key>', 'the routing key of the PagerDuty service')
    .addHelpText('after', examples('alerts targets create https://hooks.example.com/holdfast --rule deep dead-letters'))
    .action(async (url: string, { rule, form, routingKey, ...options }: Common & TargetOptions) => {
      const body = { url, form, ...defined({ rules: rule, routing_key: routingKey }), ...why(options) }
      const made = await cli.using(options, (operator) => operator.alerts.addTarget(body))
      cli.answer(options, made, () => shownOnce(cli.screen, made))
    })
  cli
    .changing(targets, 'test', 'Calls an address as if there were trouble. A worker with --alerts does so.')
    .argument(...ofOne)
    .action(async (id: number, options: Common) => {
      const { job } = await cli.using(options, (operator) => operator.alerts.testTarget(id, why(options)))
      cli.answer(
        options,
        { job },
        () => `Job ${job} sends a test to target ${id}; holdfast jobs show ${job} says whether it was answered.`,
      )
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
      cli.answer(options, { id, removed: true }, () => `Target ${id} is notified no more.`)
    })
}

interface TargetOptions {
  rule?: string[]
  form: NonNullable<TargetBody['form']>
  routingKey?: string
}

function stateOf({ enabled, silenced_until: until }: RuleAnswer): string {
  if (!enabled) return 'off'
  return until !== null && Date.parse(until) > wallMs() ? `silent until ${until}` : 'on'
}

function shownOnce(screen: Screen, { id, url, secret }: NewTargetAnswer): string {
  return `${secret}\n${screen.dim(`Target ${id} at ${url}. The secret cannot be shown again.`)}`
}

const firingColumns = columns(['RULE', 'SUBJECT', 'VALUE', 'THRESHOLD', 'SINCE'], { right: [2, 3, 4], cut: [1] })
const ruleColumns = columns(['RULE', 'KIND', 'THRESHOLD', 'TYPE', 'FOR', 'HOLD', 'SEVERITY', 'STATE'], { right: [2], cut: [3] })
const targetColumns = columns(['TARGET', 'URL', 'FORM', 'RULES', 'BY', 'AGE'], { right: [0, 5], cut: [1, 3, 4] })

function columns(heads: readonly string[], { right, cut }: Record<'right' | 'cut', readonly number[]>): Column[] {
  return heads.map((head, at) => ({ head, right: right.includes(at), cut: cut.includes(at) }))
}
