import type { Command } from 'commander'
import type { GateAnswer, LaneAnswer, LaneBody, LimitsBody } from '../../api/admin.js'
import { formatDuration } from '../../job/duration.js'
import { isOwnType } from '../../job/own-types.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { UsageError } from '../exit.js'
import type { Operator } from '../operator/operator.js'
import { laneTable, typeTable, workerTable } from '../show/flow.js'
import { breakerActions, gateLines, limitWords, shutWords } from '../show/gates.js'
import { examples, why } from './jobs.js'
import { countOf, limitsOf, rateOf, refuseNone, type TypedLimits } from './limits.js'

/** `holdfast lanes ls|set|drain|resume`. */
export function addLanes(program: Command, cli: Cli): void {
  const lanes = program.command('lanes').summary('list, tune, drain and resume lanes')
  lanes.description('Shows and operates lanes. Workers follow within one look; what is changed stands in the audit log.')
  const ofOne = ['<name>', 'the name of the lane'] as const
  cli.watching(lanes, 'ls', 'Lists lanes: how full each is, and its types.').action((options: Common) =>
    cli.show(
      options,
      async ({ flow }) => ({ lanes: await flow.lanes() }),
      (found) => laneTable(cli.screen, found.lanes),
    ),
  )
  const set = async (name: string, options: Common, change: LaneBody) => {
    const lane = await cli.using(options, ({ flow }) => flow.setLane(name, { ...change, ...why(options) }))
    cli.answer(options, lane, () => laneWords(lane))
  }
  cli
    .changing(lanes, 'set', 'Changes the named fields of a lane.')
    .argument(...ofOne)
    .option('--slots <n>', 'most jobs of it running at once in the whole fleet, or none')
    .option('--worker-slots <n>', 'most jobs of it running at once in one worker, or none')
    .option('--poll <time>', 'how often workers look where no notification comes, such as 1s')
    .option('--lease <time>', 'how long a silent worker keeps its jobs, such as 60s, or none for that of the worker')
    .option('--ageing <time>', 'how long a job waits to be taken as if it had one priority more')
    .option('--unsafe', 'take a lease outside of 60s to 1h')
    .addHelpText('after', examples('lanes set bulk --slots 20 --why "the mail server is slow"'))
    .action((name: string, { slots, workerSlots, poll, lease, ageing, unsafe, ...options }) => {
      const change: LaneBody = defined({
        slots: slots === undefined ? undefined : countOf(slots, '--slots'),
        worker_slots: workerSlots === undefined ? undefined : countOf(workerSlots, '--worker-slots'),
        ...{ poll, ageing, unsafe, lease: lease === 'none' ? null : lease },
      })
      if (Object.keys(change).length === 0)
        throw new UsageError('nothing to change was given: pass --slots 20, for example', 'slots')
      return set(name, options, change)
    })
  cli
    .changing(lanes, 'drain', 'Lets no more jobs of a lane start; what runs goes on, enqueue too.')
    .argument(...ofOne)
    .action((name: string, options: Common) => set(name, options, { enabled: false }))
  cli
    .changing(lanes, 'resume', 'Lets the jobs of a lane start again.')
    .argument(...ofOne)
    .action((name: string, options: Common) => set(name, options, { enabled: true }))
}

/** `holdfast types ls|pause|resume|limit|breaker`. */
export function addTypes(program: Command, cli: Cli): void {
  const types = program.command('types').summary('list, pause, limit and break job types')
  types.description('Shows and operates job types. What is changed stands in the audit log.')
  const ofOne = ['<type>', 'the name of the type'] as const
  cli
    .watching(types, 'ls', 'Lists job types: lane, limits, how much waits, and what holds jobs back.')
    .action((options: Common) =>
      cli.show(
        options,
        async ({ flow }) => ({ types: await flow.types(), depths: (await flow.workers()).depths }),
        (found) => typeTable(cli.screen, found.types, found.depths),
      ),
    )
  const act = async (type: string, options: Common, change: (flow: Operator['flow']) => Promise<GateAnswer | null>) => {
    const gate = await cli.using(options, ({ flow }) => change(flow))
    cli.answer(options, { type, gate }, () => gateWords(type, gate))
  }
  cli
    .changing(types, 'pause', 'Pauses a type: its jobs wait, enqueue goes on.')
    .argument(...ofOne)
    .action((type: string, options: Common) => act(type, options, (flow) => flow.pauseType(type, why(options))))
  cli
    .changing(types, 'resume', 'Lets a paused type run again.')
    .argument(...ofOne)
    .action((type: string, options: Common) => act(type, options, (flow) => flow.resumeType(type, why(options))))
  cli
    .changing(types, 'limit', 'Sets limits of a type. What is left out stays; none takes a limit away.')
    .argument(...ofOne)
    .option('--max-running <n>', 'most jobs of it running at once, or none')
    .option('--max-running-per-key <n>', 'the same for each concurrency key, or none')
    .option('--rate <n/time>', 'how many may start within a time, such as 100/1s, or none')
    .option('--rate-per-key <n/time>', 'the same for each concurrency key, or none')
    .option('--breaker <share>', 'the share of failed attempts that opens its breaker, such as 0.5, or off')
    .action((type: string, options: Common & TypedLimits & { maxRunningPerKey?: string; ratePerKey?: string }) => {
      const { maxRunningPerKey, ratePerKey } = options
      const limits: LimitsBody = {
        ...limitsOf(options),
        ...(maxRunningPerKey !== undefined && { max_running_per_key: countOf(maxRunningPerKey, '--max-running-per-key') }),
        ...(ratePerKey !== undefined && { rate_per_key: rateOf(ratePerKey, '--rate-per-key') }),
      }
      refuseNone(limits)
      return act(type, options, (flow) => flow.limit(type, { ...limits, ...why(options) }))
    })
  cli
    .changing(types, 'breaker', 'Opens, closes or holds the breaker of a type, or releases it to open and close by itself.')
    .argument(...ofOne)
    .addArgument(types.createArgument('<action>', 'what to do').choices(Object.keys(breakerActions)))
    .action((type: string, action: keyof typeof breakerActions, options: Common) =>
      act(type, options, (flow) => flow.breaker(type, { action: breakerActions[action], ...why(options) })),
    )
}

/** `holdfast workers ls|drain`. */
export function addWorkers(program: Command, cli: Cli): void {
  const workers = program.command('workers').summary('list workers, and drain remote ones')
  cli.watching(workers, 'ls', 'Lists the workers that live.').action((options: Common) =>
    cli.show(
      options,
      async ({ flow }) => ({ workers: (await flow.workers()).workers }),
      (found) => workerTable(cli.screen, found.workers),
    ),
  )
  cli
    .changing(
      workers,
      'drain',
      'Orders a remote worker to finish what it has and to claim no more; other workers drain when they are stopped.',
    )
    .argument('<id>', 'the number of the worker', Number)
    .action(async (id: number, options: Common) => {
      await cli.using(options, ({ flow }) => flow.drainRemoteWorker(id, why(options)))
      cli.answer(options, { id, draining: true }, () => `Worker ${id} finishes what it has.`)
    })
}

/** `holdfast pause all`. Its counterpart is `holdfast resume all`. */
export function addPause(program: Command, cli: Cli): void {
  const text =
    'Pauses every job type but those of Holdfast itself: their jobs wait, enqueue goes on. holdfast resume all takes it back.'
  cli
    .destroying(program, 'pause', text)
    .summary('pause every job type')
    .addArgument(program.createArgument('<what>', 'what is paused').choices(['all']))
    .option('--except <type...>', 'but not these')
    .action((_what: string, options: Common & { except?: string[] }) => everyType(cli, options, 'pause'))
}

/** Pauses every type that runs, or resumes every one that is paused. */
export async function everyType(cli: Cli, options: Common & { except?: string[] }, act: 'pause' | 'resume'): Promise<void> {
  await cli.confirm(options, `${act} every job type`)
  const done = await cli.using(options, async ({ flow }) => {
    const names: string[] = []
    for (const { type, gate } of await flow.types()) {
      const paused = (gate?.paused ?? null) !== null
      if (paused === (act === 'pause') || options.except?.includes(type)) continue
      // Webhooks of alerts and bulk actions are what people need while everything else stands still.
      if (isOwnType(type)) continue
      await (act === 'pause' ? flow.pauseType(type, why(options)) : flow.resumeType(type, why(options)))
      names.push(type)
    }
    return names
  })
  const said = act === 'pause' ? 'paused' : 'resumed'
  cli.answer(options, { types: done }, () => (done.length === 0 ? `No type had to be ${said}.` : `${said}: ${done.join(', ')}`))
}

function laneWords({ name, slots, worker_slots, poll_ms, lease_ms, enabled, in_use }: LaneAnswer): string {
  const parts = [
    enabled ? 'runs' : 'drains',
    slots === null ? `${in_use} running` : `${in_use} of ${slots} slots in use`,
    ...(worker_slots === null ? [] : [`${worker_slots} slots a worker`]),
    `poll ${formatDuration(poll_ms)}`,
    ...(lease_ms === null ? [] : [`lease ${formatDuration(lease_ms)}`]),
  ]
  return `${name}  ${parts.join('  ')}`
}

function gateWords(type: string, gate: GateAnswer | null): string {
  if (gate === null) return `${type}  no limits`
  return [[type, ...limitWords(gate), ...shutWords(gate)].join('  '), ...gateLines(gate)].join('\n')
}
