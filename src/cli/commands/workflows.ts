import { type Command, Option } from 'commander'
import type { ExecutionAnswer, ExecutionListQuery } from '../../api/executions.js'
import { monotonicMs } from '../../clock.js'
import { HoldfastError } from '../../errors.js'
import { toMilliseconds } from '../../job/duration.js'
import { type Cli, type Common, limitOption, parsed } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import type { Operator } from '../operator/operator.js'
import { executionLines, executionTable, failures } from '../show/executions.js'
import { why } from './jobs.js'

const mostTasksShown = 100
const longestWaitMs = 20_000
const ofOne = ['<id>', 'the id of the execution'] as const

/** `holdfast workflows ls|show|start|wait|cancel|resume|rerun`. */
export function addWorkflows(program: Command, cli: Cli): void {
  const workflows = program.command('workflows').summary('start, watch, cancel and repeat executions of workflows')
  workflows.description('Shows and operates executions of workflows. What is changed stands in the audit log.')
  cli
    .watching(workflows, 'ls', 'Lists executions, newest first.')
    .option('--workflow <name>', 'only those of this workflow')
    .addOption(new Option('--status <status>', 'only these').choices(['running', 'completed', 'failed', 'cancelled']))
    .option('--tag <tag...>', 'only those that were started with all of these tags')
    .addOption(limitOption())
    .option('--cursor <cursor>', 'the page after this one, as an earlier page named it')
    .action(({ workflow, status, tag: tags, limit, cursor, ...options }: Common & ExecutionListQuery & { tag?: string[] }) =>
      cli.show(
        options,
        (operator) => operator.executions.list(defined({ workflow, status, tags, limit, cursor })),
        (page) => executionTable(cli.screen, page),
      ),
    )
  cli
    .watching(workflows, 'show', 'Shows one execution: its input, its tasks and what became of each.')
    .argument(...ofOne)
    .action((id: string, options: Common) =>
      cli.show(
        options,
        async ({ executions }) => {
          const execution = await executions.get(id)
          if (!execution) throw new HoldfastError('not_found', `no execution ${id} is kept`, { field: 'id' })
          return { execution, ...(await executions.tasks(id, { limit: mostTasksShown })) }
        },
        ({ execution, tasks, next }) => executionLines(cli.screen, execution, tasks, next !== null),
      ),
    )
  cli
    .looking(workflows, 'start', 'Starts an execution of a registered workflow.')
    .argument('<workflow>', 'the name of the workflow')
    .argument('[input]', 'its input as JSON; {} where it is left out')
    .addOption(new Option('--workflow-version <n>', 'which version of it (default: the latest)').argParser(Number))
    .addHelpText('after', examples('workflows start order \'{"cart": "a7"}\''))
    .action(async (workflow: string, input: string | undefined, options: Common & { workflowVersion?: number }) => {
      const value = parsed(input ?? '{}', 'input')
      const asked = defined({ version: options.workflowVersion })
      const started = await cli.using(options, (operator) => operator.executions.start(workflow, value, asked))
      cli.answer(options, started, () => `Execution ${started.id} of ${workflow} was started.`)
    })
  cli
    .looking(
      workflows,
      'wait',
      'Waits until an execution has ended, and prints its output; fails where it failed or was cancelled.',
    )
    .argument(...ofOne)
    .option('--timeout <time>', 'how long to wait, such as 30s', '1m')
    .action((id: string, options: Common & { timeout: string }) => wait(cli, id, options))
  addMoves(workflows, cli)
}

function addMoves(workflows: Command, cli: Cli): void {
  cli
    .destroying(workflows, 'cancel', 'Cancels an execution: nothing of it starts any more, and its jobs are cancelled.')
    .argument(...ofOne)
    .action(async (id: string, options: Common) => {
      await cli.confirm(options, `cancel execution ${id} and its jobs`)
      await cli.using(options, (operator) => operator.executions.cancel(id, why(options)))
      cli.answer(options, { id, status: 'cancelled' }, () => `Execution ${id} is cancelled.`)
    })
  cli
    .changing(workflows, 'resume', 'Goes on with an execution that failed or was cancelled.')
    .argument(...ofOne)
    .option('--confirm <type...>', 'the sensitive types among its jobs')
    .action(async (id: string, options: Common & { confirm?: string[] }) => {
      const asked = defined({ confirm: options.confirm, ...why(options) })
      await cli.using(options, (operator) => operator.executions.resume(id, asked))
      cli.answer(options, { id, status: 'running' }, () => `Execution ${id} is running.`)
    })
  cli
    .changing(workflows, 'rerun', 'Starts a new execution that repeats one from a task on, with the same input.')
    .argument(...ofOne)
    .argument('<task>', 'the first task to repeat')
    .action(async (id: string, task: string, options: Common) => {
      const started = await cli.using(options, (operator) => operator.executions.rerun(id, task, why(options)))
      cli.answer(options, started, () => `Execution ${started.id} repeats it from ${task} on.`)
    })
}

async function wait(cli: Cli, id: string, options: Common & { timeout: string }): Promise<void> {
  const ms = toMilliseconds(options.timeout, '--timeout')
  const ended = await cli.using(options, (operator) => untilEnded(operator, id, ms))
  if (ended.status === 'running') {
    throw new HoldfastError('wait_timeout', `execution ${id} had not ended after ${ms} ms`)
  }
  if (ended.status !== 'completed') {
    const code = ended.status === 'failed' ? 'execution_failed' : 'execution_cancelled'
    throw new HoldfastError(code, `execution ${id} of ${ended.workflow} ${ended.because}`)
  }
  const { output } = ended
  const said = output === undefined ? 'It completed.' : `It completed: ${JSON.stringify(output)}`
  cli.answer(options, output ?? null, () => said)
}

/** A server waits a minute at most, so that a long wait is several. */
async function untilEnded({ executions }: Operator, id: string, ms: number): Promise<ExecutionAnswer & { because: string }> {
  const until = monotonicMs() + ms
  for (;;) {
    const left = Math.max(0, Math.round(until - monotonicMs()))
    const found = await executions.wait(id, { timeout: Math.min(left, longestWaitMs) })
    if (found.status === 'running' && left > 0) continue
    const dead = found.status === 'failed' ? (await executions.tasks(id, { status: 'dead' })).tasks : []
    return { ...found, because: found.status === 'failed' ? `failed: ${failures(dead)}` : 'was cancelled' }
  }
}
