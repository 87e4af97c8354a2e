import { type Command, Option } from 'commander'
import type { AuditQuery } from '../../api/admin.js'
import { alertKinds, type RuleBody } from '../../api/alerts.js'
import { formatDuration } from '../../job/duration.js'
import { type Cli, type Common, limitOption } from '../cli.js'
import { defined } from '../defined.js'
import { UsageError } from '../exit.js'
import { ago } from '../screen.js'
import { jobTable, more } from '../show/jobs.js'
import { say, why } from './jobs.js'

/** `holdfast approvals ls|approve|reject`. */
export function addApprovals(program: Command, cli: Cli): void {
  const approvals = program.command('approvals').summary('list, approve and reject jobs that wait for it')
  const ofOne = ['<id>', 'the id of the job'] as const
  cli
    .watching(approvals, 'ls', 'Lists the jobs that wait for approval, newest first.')
    .addOption(limitOption())
    .action((options: Common & { limit: number }) =>
      cli.show(
        options,
        (operator) => operator.jobs({ status: 'awaiting_approval', limit: options.limit }),
        (page) => jobTable(cli.screen, page),
      ),
    )
  cli
    .changing(approvals, 'approve', 'Approves a job. It runs once as many have approved as its quorum.')
    .argument(...ofOne)
    .action(async (id: string, options: Common) =>
      say(cli, id, options, await cli.using(options, (one) => one.approve(id, why(options)))),
    )
  cli
    .changing(approvals, 'reject', 'Rejects a job and says why: it ends cancelled.')
    .argument(...ofOne)
    .action(async (id: string, options: Common) => {
      const { why: reason } = options
      if (!reason) throw new UsageError('say why with --why, for the service that enqueued the job', '--why')
      say(cli, id, options, await cli.using(options, (operator) => operator.reject(id, { why: reason })))
    })
}

/** `holdfast audit` and `holdfast roles`. */
export function addAudit(program: Command, cli: Cli): void {
  const columns = [
    { head: 'AGE', right: true },
    { head: 'WHO', cut: true },
    { head: 'DID', cut: true },
    { head: 'TO', cut: true },
    { head: 'WHY', cut: true },
  ]
  cli
    .watching(program, 'audit', 'Lists what operators did, the latest first.')
    .summary('list what operators did')
    .option('--actor <name>', 'only what this one did')
    .option('--action <name>', 'only this, such as pause_type')
    .option('--target <name>', 'only what was done to this: a job, a type, a lane, a key')
    .addOption(limitOption(1_000, 50))
    .option('--cursor <cursor>', 'the page after this one, as an earlier page named it')
    .action(({ actor, action, target, limit, cursor, ...options }: Common & AuditQuery) =>
      cli.show(
        options,
        ({ access }) => access.audit(defined({ actor, action, target, limit, cursor })),
        ({ lines, next }) => {
          const rows = lines.map((line) => [ago(line.at), line.actor, line.action, line.target ?? '', line.why ?? ''])
          return cli.screen.table(columns, rows, 'Nothing stands in the audit log.') + more(cli.screen, next)
        },
      ),
    )
  cli
    .looking(program, 'roles', 'Lists the roles of keys and what each allows.')
    .summary('list the roles of keys')
    .action((options: Common) =>
      cli.show(
        options,
        async ({ access }) => ({ roles: await access.roles() }),
        ({ roles }) => {
          const rows = roles.map(({ name, permissions, built_in }) => [
            name,
            built_in ? 'built in' : 'your own',
            permissions.join(' '),
          ])
          return cli.screen.table(
            [{ head: 'ROLE' }, { head: 'KIND' }, { head: 'ALLOWS', cut: true }],
            rows,
            'There are no roles.',
          )
        },
      ),
    )
}

/** `holdfast alerts ls|rules|set|drop`. */
export function addAlerts(program: Command, cli: Cli): void {
  const alerts = program.command('alerts').summary('list what is wrong, and change what counts as that')
  cli.watching(alerts, 'ls', 'Lists the alerts that fire.').action((options: Common) =>
    cli.show(
      options,
      ({ alerts: all }) => all.get(),
      ({ firing }) => {
        const rows = firing.map((one) => [one.rule, one.subject, String(one.value), String(one.threshold), ago(one.since)])
        const columns = ['RULE', 'SUBJECT', 'VALUE', 'THRESHOLD', 'SINCE'].map((head, at) => ({
          head,
          right: at > 1,
          cut: at === 1,
        }))
        return cli.screen.table(columns, rows, 'Nothing is wrong.')
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
        const columns = ['RULE', 'KIND', 'THRESHOLD', 'TYPE', 'HOLD', 'STATE'].map((head, at) => ({
          head,
          right: at === 2,
          cut: at === 3,
        }))
        return cli.screen.table(columns, rows, 'There are no rules.')
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
    .option('--enabled <yes>', 'on or off')
    .action(async (name: string, { kind, threshold, type, hold, enabled, ...options }) => {
      const rule = defined({
        kind,
        threshold,
        type,
        hold,
        enabled: enabled === undefined ? undefined : enabled === 'on',
      }) as RuleBody
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
}
