import { type Command, Option } from 'commander'
import type { AuditQuery } from '../../api/admin.js'
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
    .addOption(revisionOption())
    .action(async (id: string, { revision, ...options }: Verdict) =>
      say(cli, id, options, await cli.using(options, (one) => one.approve(id, { ...why(options), ...defined({ revision }) }))),
    )
  cli
    .changing(approvals, 'reject', 'Rejects a job and says why: it ends cancelled.')
    .argument(...ofOne)
    .addOption(revisionOption())
    .action(async (id: string, { revision, ...options }: Verdict) => {
      const { why: reason } = options
      if (!reason) throw new UsageError('say why with --why, for the service that enqueued the job', '--why')
      say(cli, id, options, await cli.using(options, (one) => one.reject(id, { why: reason, ...defined({ revision }) })))
    })
}

type Verdict = Common & { revision?: number }

const revisionOption = () =>
  new Option('--revision <n>', 'the revision of the payload that you looked at; another one is refused').argParser(Number)

/** `holdfast audit`. */
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
}
