import { type Command, Option } from 'commander'
import type { ScheduleAnswer, ScheduleBody } from '../../api/schedules.js'
import { HoldfastError } from '../../errors.js'
import { type Cli, type Common, moment } from '../cli.js'
import { examples } from '../examples.js'
import { UsageError } from '../exit.js'
import type { Operator } from '../operator/operator.js'
import { untilWords } from '../show/gates.js'
import { scheduleLines, scheduleTable } from '../show/schedules.js'
import { ends, forOption, type Lasting } from './gates.js'
import { why } from './jobs.js'
import { type ScheduleOptions, scheduleFields, scheduleOf } from './schedule-fields.js'

const ofOne = ['<name>', 'the name of the schedule'] as const

/** `holdfast schedules ls|show|create|change|preview|pause|resume|reset|run-now|backfill|remove|prune`. */
export function addSchedules(program: Command, cli: Cli): void {
  const schedules = program.command('schedules').summary('list, make, change, preview, pause, run and backfill schedules')
  schedules.description('Shows and operates what makes jobs by the clock. What is changed stands in the audit log.')

  cli
    .watching(schedules, 'ls', 'Lists schedules: when each ticks next, and what keeps it from that.')
    .action((options: Common) => cli.show(options, all, (found) => scheduleTable(cli.screen, found.schedules)))
  cli
    .watching(
      schedules,
      'show',
      'Shows one schedule, its latest ticks and their jobs, and what the code says where an operator changed it.',
    )
    .argument(...ofOne)
    .action((name: string, options: Common) =>
      cli.show(
        options,
        async (operator) => (await operator.schedules.get(name)) ?? unknown(name),
        (state) => scheduleLines(cli.screen, state),
      ),
    )
  scheduleFields(cli.changing(schedules, 'create', 'Makes a schedule; one of that name is refused.').argument(...ofOne))
    .addHelpText(
      'after',
      examples(
        'schedules create nightly --type report --cron "0 3 * * *" --time-zone Europe/Vienna',
        'schedules create nightly --file nightly.json --why "asked for by sales"',
      ),
    )
    .action(async (name: string, options: ScheduleOptions) => {
      const body = { ...scheduleOf(options, name), name } as ScheduleBody
      if (body.type === undefined)
        throw new UsageError('no type was given: pass --type report, or a --file that has it', '--type')
      const made = await cli.using(options, (operator) => operator.schedules.create(body))
      cli.answer(options, made, () => `${name} ticks next at ${made.next ?? 'no time'}.`)
    })
  scheduleFields(
    cli
      .changing(
        schedules,
        'change',
        'Changes the fields that are given. Of a schedule that stands in code this holds, also after deploys, until reset.',
      )
      .argument(...ofOne),
  )
    .addHelpText('after', examples('schedules change nightly --cron "0 4 * * *"', 'schedules change nightly --file change.json'))
    .action(async (name: string, options: ScheduleOptions) => {
      const { why: because, ...change } = scheduleOf(options)
      if (Object.keys(change).length === 0) {
        throw new UsageError('nothing to change was given: pass --cron "0 4 * * *", for example', 'schedule')
      }
      const state = await cli.using(options, (operator) => operator.schedules.change(name, { ...change, ...why(options) }))
      cli.answer(options, state, () => scheduleTable(cli.screen, [state]))
    })
  cli
    .looking(schedules, 'preview', 'Says when a schedule ticks next.')
    .argument(...ofOne)
    .addOption(new Option('--count <n>', 'how many ticks, 1 to 1000').default(10).argParser(Number))
    .action((name: string, options: Common & { count: number }) => preview(cli, name, options))
  const say = (act: 'resume' | 'reset', description: string, done: string) =>
    cli
      .changing(schedules, act, description)
      .argument(...ofOne)
      .action(async (name: string, options: Common) => {
        const state = await cli.using(options, (operator) => operator.schedules[act](name, why(options)))
        cli.answer(options, state, () => `${name} ${done}.`)
      })
  cli
    .changing(schedules, 'pause', 'Pauses a schedule: no tick makes a job until it is resumed.')
    .argument(...ofOne)
    .option(...forOption)
    .action(async (name: string, options: Common & Lasting) => {
      const state = await cli.using(options, (operator) => operator.schedules.pause(name, { ...why(options), ...ends(options) }))
      cli.answer(options, state, () => `${name} is paused${untilWords(state.paused?.until ?? null)}.`)
    })
  say('resume', 'Lets a schedule tick again, from now on.', 'ticks again')
  say('reset', 'Takes back what operators changed: the schedule is as the code says.', 'is as the code says')
  cli
    .changing(schedules, 'run-now', 'Makes a job of a schedule now, paused or not, under its overlap policy.')
    .argument(...ofOne)
    .action((name: string, options: Common) => runNow(cli, name, options))
  cli
    .changing(schedules, 'backfill', 'Makes a job of each tick of a range that has none.')
    .argument(...ofOne)
    .requiredOption('--from <time>', 'the first tick, such as 2026-03-01T00:00:00Z')
    .requiredOption('--to <time>', 'the last tick; it must be over')
    .option('--dry-run', 'only count the ticks')
    .action((name: string, options: Common & { from: string; to: string; dryRun?: boolean }) => backfill(cli, name, options))
  cli
    .destroying(schedules, 'remove', 'Removes a schedule that does not stand in code; its jobs stay.')
    .argument(...ofOne)
    .action(async (name: string, options: Common) => {
      await cli.confirm(options, `remove the schedule ${name}`)
      await cli.using(options, (operator) => operator.schedules.remove(name, why(options)))
      cli.answer(options, { name, removed: true }, () => `${name} is removed.`)
    })
  cli
    .destroying(schedules, 'prune', 'Removes the schedules that are gone from code; their jobs stay.')
    .option('--dry-run', 'only name them')
    .action((options: Common & { dryRun?: boolean }) => prune(cli, options))
}

async function all({ schedules }: Operator): Promise<{ schedules: ScheduleAnswer[]; next: null }> {
  const found: ScheduleAnswer[] = []
  for (let after: string | null | undefined; after !== null; ) {
    const page = await schedules.list({ limit: 1_000, ...(after === undefined ? {} : { after }) })
    found.push(...page.schedules)
    after = page.next
  }
  return { schedules: found, next: null }
}

async function preview(cli: Cli, name: string, options: Common & { count: number }): Promise<void> {
  const ticks = await cli.using(options, (operator) => operator.schedules.preview(name, { count: options.count }))
  const shown = ({ tick, due }: { tick: string; due: string }) =>
    due > tick ? `${tick}  ${cli.screen.dim(`its job is due at ${due}`)}` : tick
  const lines = () => (ticks.length === 0 ? `${name} has no tick any more.` : ticks.map(shown).join('\n'))
  cli.answer(options, { ticks }, lines)
}

async function runNow(cli: Cli, name: string, options: Common): Promise<void> {
  const run = await cli.using(options, (operator) => operator.schedules.runNow(name, why(options)))
  const behind = run.outcome === 'queued' ? `; it waits for the end of ${run.in_the_way}` : ''
  const said = run.job === null ? `No job was made: ${run.in_the_way} has not ended.` : `Job ${run.job} was made${behind}.`
  cli.answer(options, run, () => said)
}

async function backfill(cli: Cli, name: string, options: Common & { from: string; to: string; dryRun?: boolean }): Promise<void> {
  const range = { from: moment(options.from, '--from'), to: moment(options.to, '--to'), dry_run: options.dryRun ?? false }
  const { ticks, made } = await cli.using(options, (operator) => operator.schedules.backfill(name, { ...range, ...why(options) }))
  const jobs = options.dryRun ? 'nothing was done' : `${made.length} jobs were made, ${ticks - made.length} ticks had one`
  cli.answer(options, { ticks, made }, () => `${ticks} ticks; ${jobs}.`)
}

async function prune(cli: Cli, options: Common & { dryRun?: boolean }): Promise<void> {
  const dryRun = options.dryRun ?? false
  if (!dryRun) await cli.confirm(options, 'remove every schedule that is gone from code')
  const names = await cli.using(options, (operator) => operator.schedules.prune({ dry_run: dryRun, ...why(options) }))
  const done = dryRun ? 'gone from code' : 'removed'
  const lines = () => names.map((name) => `${name}  ${cli.screen.dim(done)}`).join('\n')
  cli.answer(options, { names }, () => (names.length === 0 ? 'No schedule is gone from code.' : lines()))
}

function unknown(name: string): never {
  throw new HoldfastError('not_found', `there is no schedule named "${name}"`, { field: 'name' })
}
