import type { Command } from 'commander'
import type { LogAnswer } from '../../api/jobs.js'
import { HoldfastError } from '../../errors.js'
import { isJobId } from '../../job/id.js'
import { type Cli, type Common, parsed } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import type { Operator } from '../operator/operator.js'
import type { Screen } from '../screen.js'
import { explanationLines } from '../show/jobs.js'
import { reasonLines } from '../show/schedules.js'
import { oneLine } from '../table.js'
import { unknown, why } from './jobs.js'
import { everyType } from './types.js'

/** So many lines are answered at once. */
const logPage = 1_000

/** `holdfast explain`, `holdfast log`, `holdfast signal` and `holdfast resume`. */
export function addOneJob(program: Command, cli: Cli): void {
  cli
    .watching(
      program,
      'explain',
      'Says why a job is not running now: each gate that holds it back, in the order a job passes them, and what opens it.\n' +
        'Of a schedule it says why it makes no job now.',
    )
    .summary('say why a job is not running now, or a schedule makes none')
    .argument('<id>', 'the id of the job, or the name of the schedule')
    .action((id: string, options: Common) => (isJobId(id) ? explainJob(cli, id, options) : explainSchedule(cli, id, options)))
  cli
    .watching(program, 'log', 'Shows what the handler of a job logged, in every attempt, first to last.')
    .summary('show what the handler of a job logged')
    .argument('<id>', 'the id of the job')
    .action((id: string, options: Common) =>
      cli.show(
        options,
        (operator) => wholeLog(operator, id),
        (lines) => logLines(cli.screen, lines),
      ),
    )
  cli
    .looking(
      program,
      'signal',
      'Sends a signal to a job that has not ended, for ctx.waitFor(name) of its handler. It is stored and delivered once.',
    )
    .summary('send a signal to a job')
    .argument('<id>', 'the id of the job')
    .argument('<name>', 'the name of the signal')
    .argument('[payload]', 'JSON for the handler; null where it is left out')
    .option('--by <name>', 'who sends it; over HTTP the key says so')
    .addHelpText('after', examples('signal 0190b5c2-7d4e-7c3a-9f10-3a5b7c9d1e2f paid \'{"amount": 30}\''))
    .action(async (id: string, name: string, payload: string | undefined, options: Common) => {
      const value = payload === undefined ? null : parsed(payload, 'payload')
      await cli.using(options, (operator) => operator.signal(id, name, value))
      cli.answer(options, { id, signal: name }, () => `sent ${name} to ${id}`)
    })
  cli
    .destroying(
      program,
      'resume',
      'Takes up a cancelled job from its last checkpoint or step; approval and unique key are asked for again. resume all lets every paused type run again.',
    )
    .summary('take up a cancelled job')
    .argument('<id>', 'the id of the job, or all')
    .option('--confirm <type>', 'the type of the job, where it is sensitive')
    .action(async (id: string, options: Common & { confirm?: string }) => {
      if (id === 'all') return everyType(cli, options, 'resume')
      const asked = defined({ confirm: options.confirm, ...why(options) })
      const moved = await cli.using(options, (operator) => operator.resume(id, asked))
      cli.answer(options, moved, () => `resumed ${id}; it is ${moved.status}`)
    })
}

/** Page by page; a job that is not there has no log, which is said of it alone. */
async function wholeLog(operator: Operator, id: string): Promise<LogAnswer['lines']> {
  if (!(await operator.job(id))) unknown(id)
  const lines: LogAnswer['lines'] = []
  for (;;) {
    const page = await operator.log(id, defined({ after: lines.at(-1)?.id }))
    lines.push(...page)
    if (page.length < logPage) return lines
  }
}

function logLines(screen: Screen, lines: LogAnswer['lines']): string {
  if (lines.length === 0) return 'Its handler has logged nothing.'
  return lines
    .map(({ at, attempt, level, line }) => `${screen.dim(`${at}  attempt ${attempt}  ${level.padEnd(5)}`)}  ${oneLine(line)}`)
    .join('\n')
}

async function explainJob(cli: Cli, id: string, options: Common): Promise<void> {
  await cli.show(
    options,
    async (operator) => (await operator.explain(id)) ?? unknown(id),
    (explanation) => explanationLines(cli.screen, explanation),
  )
}

async function explainSchedule(cli: Cli, name: string, options: Common): Promise<void> {
  await cli.show(
    options,
    async (operator) => {
      const found = await operator.schedules.get(name)
      if (!found) throw new HoldfastError('not_found', `there is no schedule named "${name}"`, { field: 'name' })
      return { name, status: found.status, next: found.next, reasons: found.reasons }
    },
    ({ status, next, reasons }) => {
      const waits = reasons.length === 0 ? [`  it waits for its next tick, at ${next}`] : []
      return [`${cli.screen.bold(name)}  schedule  ${status}`, '', ...waits, ...reasonLines(cli.screen, reasons)].join('\n')
    },
  )
}
