import { type Command, Option } from 'commander'
import { HoldfastError } from '../../errors.js'
import type { ScheduleExplanation } from '../../schedule/explain.js'
import type { ScheduleState, ScheduleTick } from '../../schedule/states.js'
import { answer, type Common, changing as changingUnder, looking, me, using } from '../operating.js'
import { bold, dim } from '../print.js'

/** `holdfast schedules ls|show|preview|pause|resume|reset|run-now|backfill|remove|prune`. */
export function addSchedules(program: Command): void {
  const schedules = program.command('schedules').summary('list, preview, pause, run and backfill schedules')
  schedules.description('Shows and operates what makes jobs by the clock. What is changed stands in the audit log.')
  const subcommand = (name: string, description: string) => looking(schedules, name, description)
  const changing = (name: string, description: string) => changingUnder(schedules, name, description)
  const ofOne = ['<name>', 'the name of the schedule'] as const

  subcommand('ls', 'Lists schedules: when each ticks next, and what keeps it from that.').action(ls)
  subcommand('show', 'Shows one schedule, its latest ticks and their jobs, and what the code says where an operator changed it.')
    .argument(...ofOne)
    .action(show)
  subcommand('preview', 'Says when a schedule ticks next.')
    .argument(...ofOne)
    .addOption(new Option('--count <n>', 'how many ticks, 1 to 1000').default(10).argParser(Number))
    .action(preview)
  changing('pause', 'Pauses a schedule: no tick makes a job until it is resumed.')
    .argument(...ofOne)
    .action((name, options) => say(name, options, 'pause', 'is paused', 'was paused already'))
  changing('resume', 'Lets a schedule tick again, from now on.')
    .argument(...ofOne)
    .action((name, options) => say(name, options, 'resume', 'ticks again', 'was not paused'))
  changing('reset', 'Takes back what operators changed: the schedule is as the code says.')
    .argument(...ofOne)
    .action((name, options) => say(name, options, 'reset', 'is as the code says', 'was not changed'))
  changing('run-now', 'Makes a job of a schedule now, paused or not, under its overlap policy.')
    .argument(...ofOne)
    .action(runNow)
  changing('backfill', 'Makes a job of each tick of a range that has none.')
    .argument(...ofOne)
    .requiredOption('--from <time>', 'the first tick, such as 2026-03-01T00:00:00Z')
    .requiredOption('--to <time>', 'the last tick; it must be over')
    .option('--dry-run', 'only count the ticks')
    .action(backfill)
  changing('remove', 'Removes a schedule that does not stand in code; its jobs stay.')
    .argument(...ofOne)
    .action(remove)
  changing('prune', 'Removes the schedules that are gone from code; their jobs stay.')
    .option('--dry-run', 'only name them')
    .action(prune)
}

async function ls(options: Common): Promise<void> {
  const all = await using(options, async ({ schedules }) => {
    const found: ScheduleState[] = []
    for (
      let page = await schedules.list();
      page.length > 0;
      page = await schedules.list({ after: found.at(-1)?.name as string })
    ) {
      found.push(...page)
    }
    return found
  })
  answer(options, all, () => (all.length === 0 ? 'There are no schedules.' : all.map(line).join('\n')))
}

async function show(name: string, options: Common): Promise<void> {
  const found = await using(options, async ({ schedules }) => ({
    state: await schedules.get(name),
    why: await schedules.explain(name),
  }))
  if (!found.state) throw unknown(name)
  answer(options, found.state, () => whole(found.state as ScheduleState & { ticks: ScheduleTick[] }, found.why?.reasons ?? []))
}

async function preview(name: string, options: Common & { count: number }): Promise<void> {
  const ticks = await using(options, ({ schedules }) => schedules.preview(name, { count: options.count }))
  const shown = ({ tick, due }: { tick: Date; due: Date }) =>
    due > tick ? `${tick.toISOString()}  ${dim(`its job is due at ${due.toISOString()}`)}` : tick.toISOString()
  answer(options, ticks, () => (ticks.length === 0 ? `${name} has no tick any more.` : ticks.map(shown).join('\n')))
}

async function say(name: string, options: Common, act: 'pause' | 'resume' | 'reset', done: string, not: string): Promise<void> {
  const changed = await using(options, ({ schedules }) => schedules[act](name, me(options)))
  answer(options, { name, changed }, () => `${name} ${changed ? done : not}.`)
}

async function runNow(name: string, options: Common): Promise<void> {
  const run = await using(options, ({ schedules }) => schedules.runNow(name, me(options)))
  const behind = run.outcome === 'queued' ? `; it waits for the end of ${run.inTheWay}` : ''
  answer(options, run, () =>
    run.job === null ? `No job was made: ${run.inTheWay} has not ended.` : `Job ${bold(run.job)} was made${behind}.`,
  )
}

async function backfill(name: string, options: Common & { from: string; to: string; dryRun?: boolean }): Promise<void> {
  const range = { from: new Date(options.from), to: new Date(options.to) }
  const { ticks, made } = await using(options, ({ schedules }) =>
    schedules.backfill(name, range, me(options), { dryRun: options.dryRun ?? false }),
  )
  const jobs = options.dryRun ? 'nothing was done' : `${made.length} jobs were made, ${ticks - made.length} ticks had one`
  answer(options, { ticks, made }, () => `${ticks} ticks; ${jobs}.`)
}

async function remove(name: string, options: Common): Promise<void> {
  await using(options, ({ schedules }) => schedules.remove(name, me(options)))
  answer(options, { name, removed: true }, () => `${name} is removed.`)
}

async function prune(options: Common & { dryRun?: boolean }): Promise<void> {
  const names = await using(options, ({ schedules }) => schedules.prune(me(options), { dryRun: options.dryRun ?? false }))
  const done = options.dryRun ? 'gone from code' : 'removed'
  answer(options, names, () =>
    names.length === 0 ? 'No schedule is gone from code.' : names.map((name) => `${name}  ${dim(done)}`).join('\n'),
  )
}

/** Why a schedule makes no job now; for `holdfast explain`, which takes its name too. */
export async function explainNamed(name: string, options: Common): Promise<void> {
  const explanation = await using(options, ({ schedules }) => schedules.explain(name))
  if (!explanation) throw unknown(name)
  answer(options, explanation, () => inWords(explanation))
}

function inWords({ name, status, next, reasons }: ScheduleExplanation): string {
  const waits = reasons.length === 0 ? [`  it waits for its next tick, at ${next?.toISOString()}`] : []
  return [`${bold(name)}  schedule  ${status}`, '', ...waits, ...reasons.flatMap(reason)].join('\n')
}

function reason({ why, opens }: { why: string; opens: string }): string[] {
  return [`  ${why}`, `  ${dim('opens with')} ${opens}`]
}

function line(state: ScheduleState): string {
  const { name, type, status, next, code } = state
  const when = next ? `next ${next.toISOString()}` : ''
  const notes = [
    code?.goneSince ? 'gone from code' : '',
    code && Object.keys(code.differs).length > 0 ? 'changed by an operator' : '',
  ]
  return [bold(name), timing(state), type, status, when, ...notes.map(dim)].filter((part) => part !== '').join('  ')
}

function timing({ cron, every, timeZone }: ScheduleState): string {
  return cron === null ? `every ${every}` : `${cron} (${timeZone})`
}

function whole(state: ScheduleState & { ticks: ScheduleTick[] }, reasons: { why: string; opens: string }[]): string {
  const { missed, overlap, jitter, code, dropped } = state
  const rules = [
    `missed: ${typeof missed === 'string' ? missed : `all up to ${missed.all}`}`,
    `overlap: ${overlap}`,
    `jitter: ${jitter}`,
  ]
  const differs = Object.entries(code?.differs ?? {}).map(
    ([field, value]) => `  the code says ${field}: ${JSON.stringify(value)}`,
  )
  const lost = dropped ? [`  ${dropped.ticks} missed ticks were not made up for, the last of ${dropped.last.toISOString()}`] : []
  const ticks = state.ticks.map(({ tick, kind, outcome, job, status, inTheWay }) =>
    [`  ${tick.toISOString()}`, kind, outcome, job ?? `for ${inTheWay}`, status ?? ''].join('  ').trimEnd(),
  )
  return [line(state), `  ${rules.join('  ')}`, ...differs, ...lost, ...reasons.flatMap(reason), ...ticks].join('\n')
}

function unknown(name: string): HoldfastError {
  return new HoldfastError('not_found', `there is no schedule named "${name}"`, { field: 'name' })
}
