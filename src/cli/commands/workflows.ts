import { type Command, Option } from 'commander'
import { HoldfastError } from '../../errors.js'
import type { ExecutionOverview, ExecutionSummary, ExecutionTask } from '../../workflow/story.js'
import { answer, type Common, changing, looking, me, using } from '../operating.js'
import { bold, dim } from '../print.js'

interface Listed extends Common {
  workflow?: string
  status?: 'running' | 'completed' | 'failed' | 'cancelled'
  limit: number
}

const mostTasksShown = 100

/** `holdfast workflows ls|show|start|wait|cancel|resume|rerun`. */
export function addWorkflows(program: Command): void {
  const workflows = program.command('workflows').summary('start, watch, cancel and repeat executions of workflows')
  workflows.description('Shows and operates executions of workflows. What is changed stands in the audit log.')
  const ofOne = ['<id>', 'the id of the execution'] as const
  looking(workflows, 'ls', 'Lists executions, newest first.')
    .option('--workflow <name>', 'only those of this workflow')
    .addOption(new Option('--status <status>', 'only these').choices(['running', 'completed', 'failed', 'cancelled']))
    .addOption(new Option('--limit <n>', 'how many, 1 to 100').default(20).argParser(Number))
    .action(ls)
  looking(workflows, 'show', 'Shows one execution: its input, its tasks and what became of each.')
    .argument(...ofOne)
    .action(show)
  looking(workflows, 'start', 'Starts an execution of a registered workflow.')
    .argument('<workflow>', 'the name of the workflow')
    .argument('[input]', 'its input as JSON; {} where it is left out')
    .addOption(new Option('--workflow-version <n>', 'which version of it (default: the latest)').argParser(Number))
    .action(start)
  looking(workflows, 'wait', 'Waits until an execution has ended, and prints its output; fails where it failed or was cancelled.')
    .argument(...ofOne)
    .option('--timeout <time>', 'how long to wait, such as 30s', '1m')
    .action(wait)
  changing(workflows, 'cancel', 'Cancels an execution: nothing of it starts any more, and its jobs are cancelled.')
    .argument(...ofOne)
    .action((id, options) => move(id, options, 'cancel'))
  changing(workflows, 'resume', 'Goes on with an execution that failed or was cancelled.')
    .argument(...ofOne)
    .option('--confirm <type...>', 'the sensitive types among its jobs')
    .action((id, options) => move(id, options, 'resume'))
  changing(workflows, 'rerun', 'Starts a new execution that repeats one from a task on, with the same input.')
    .argument(...ofOne)
    .argument('<task>', 'the first task to repeat')
    .action(rerun)
}

async function ls({ workflow, status, limit, ...options }: Listed): Promise<void> {
  const filter = { ...(workflow !== undefined && { workflow }), ...(status !== undefined && { status }) }
  const { executions } = await using(options, (holdfast) => holdfast.executions.list(filter, { limit }))
  answer(options, executions, () => (executions.length === 0 ? 'There are no executions.' : executions.map(line).join('\n')))
}

async function show(id: string, options: Common): Promise<void> {
  const { execution, tasks } = await using(options, async ({ executions }) => {
    const execution = await executions.overview(id)
    if (!execution) throw new HoldfastError('not_found', `no execution ${id} is kept`, { field: 'id' })
    return { execution, tasks: await executions.tasks(id, { limit: mostTasksShown }) }
  })
  answer(options, { ...execution, list: tasks.tasks }, () => whole(execution, tasks.tasks, tasks.next !== null))
}

async function start(workflow: string, input: string | undefined, options: Common & { workflowVersion?: number }): Promise<void> {
  const { workflowVersion: version } = options
  const started = await using(options, (holdfast) =>
    holdfast.start(workflow, parsed(input ?? '{}'), version === undefined ? {} : { version }),
  )
  answer(options, started, () => `Execution ${bold(started.id)} of ${workflow} was started.`)
}

async function wait(id: string, options: Common & { timeout: string }): Promise<void> {
  const output = await using(options, ({ executions }) => executions.wait(id, { timeout: options.timeout }))
  answer(options, output ?? null, () => (output === undefined ? 'It completed.' : `It completed: ${JSON.stringify(output)}`))
}

async function move(id: string, options: Common & { confirm?: string[] }, what: 'cancel' | 'resume'): Promise<void> {
  const { confirm } = options
  const moved = await using(options, ({ executions }) =>
    what === 'cancel'
      ? executions.cancel(id, me(options))
      : executions.resume(id, me(options), confirm === undefined ? {} : { confirm }),
  )
  if (!moved.done) throw new HoldfastError('conflict', `nothing was changed: ${moved.because}`)
  answer(options, moved, () => `Execution ${id} is ${moved.status}.`)
}

async function rerun(id: string, task: string, options: Common): Promise<void> {
  const started = await using(options, ({ executions }) => executions.rerun(id, task, me(options)))
  answer(options, started, () => `Execution ${bold(started.id)} repeats it from ${task} on.`)
}

function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch (cause) {
    throw new HoldfastError('invalid_payload', `the input is not JSON: ${(cause as Error).message}`, { field: 'input', cause })
  }
}

function line({ id, workflow, version, status, createdAt, rerunOf }: ExecutionSummary): string {
  const again = rerunOf === null ? [] : [dim(`repeats ${rerunOf}`)]
  return [bold(id), `${workflow} v${version}`, status, createdAt.toISOString(), ...again].join('  ')
}

function whole(execution: ExecutionOverview, tasks: readonly ExecutionTask[], more: boolean): string {
  const counts = Object.entries(execution.tasks).filter(([, count]) => count > 0)
  const shown = tasks.map(({ name, item, status, jobId, error }) =>
    [`  ${item === null ? name : `${name}[${item}]`}`, status, jobId ?? '', error ? `${error.name}: ${error.message}` : '']
      .filter((part) => part !== '')
      .join('  '),
  )
  return [
    line(execution),
    `  input ${JSON.stringify(execution.input)}`,
    `  tasks ${counts.map(([status, count]) => `${status}: ${count}`).join('  ')}`,
    ...shown,
    ...(more ? [dim(`  and more; --json and the API list all of them`)] : []),
  ].join('\n')
}
