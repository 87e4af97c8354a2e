import type { Command } from 'commander'
import type { LaneAnswer, LaneBody } from '../../api/admin.js'
import { formatDuration } from '../../job/duration.js'
import type { Cli, Common } from '../cli.js'
import { defined } from '../defined.js'
import { examples } from '../examples.js'
import { UsageError } from '../exit.js'
import { laneTable, workerTable } from '../show/flow.js'
import { overrideLines } from '../show/gates.js'
import { ends, forOption, type Lasting, namedFields } from './gates.js'
import { why } from './jobs.js'
import { countOf } from './limits.js'

interface LaneOptions extends Common, Lasting {
  slots?: string
  workerSlots?: string
  poll?: string
  lease?: string
  ageing?: string
  unsafe?: boolean
  type?: string[]
}

/** `holdfast lanes ls|create|set|types|drain|resume|release`. */
export function addLanes(program: Command, cli: Cli): void {
  const lanes = program.command('lanes').summary('list, make, tune, fill, drain and resume lanes')
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
  settings(cli.changing(lanes, 'create', 'Makes a lane, with job types in it or without any.').argument(...ofOne))
    .option('--type <type...>', 'job types to move into it, with what waits of them')
    .addHelpText('after', examples('lanes create bulk --slots 20 --type newsletter', 'lanes create night --poll 1m'))
    .action((name: string, options: LaneOptions) =>
      set(name, options, { ...changeOf(options), ...defined({ types: options.type }), create: true }),
    )
  settings(cli.changing(lanes, 'set', 'Changes the named fields of a lane.').argument(...ofOne))
    .option(...forOption)
    .addHelpText('after', examples('lanes set bulk --slots 20 --why "the mail server is slow"'))
    .action((name: string, options: LaneOptions) => {
      const change = { ...changeOf(options), ...ends(options) }
      if (Object.keys(change).length === 0)
        throw new UsageError('nothing to change was given: pass --slots 20, for example', 'slots')
      return set(name, options, change)
    })
  cli
    .changing(lanes, 'types', 'Moves job types into a lane, with what waits of them; the lanes they were in keep what runs.')
    .argument(...ofOne)
    .argument('<types...>', 'the names of the types')
    .addHelpText('after', examples('lanes types bulk newsletter report'))
    .action((name: string, types: string[], options: Common) => set(name, options, { types }))
  cli
    .changing(lanes, 'drain', 'Lets no more jobs of a lane start; what runs goes on, enqueue too.')
    .argument(...ofOne)
    .option(...forOption)
    .action((name: string, options: Common & Lasting) => set(name, options, { enabled: false, ...ends(options) }))
  cli
    .changing(lanes, 'resume', 'Lets the jobs of a lane start again.')
    .argument(...ofOne)
    .action((name: string, options: Common) => set(name, options, { enabled: true }))
  cli
    .changing(lanes, 'release', 'Gives fields of a lane back to what it was made with: those that are named, or all.')
    .argument(...ofOne)
    .argument('[fields...]', 'such as slots or poll')
    .action(async (name: string, fields: string[], options: Common) => {
      const named = namedFields(fields)
      const lane = await cli.using(options, ({ flow }) => flow.releaseLane(name, { ...named, ...why(options) }))
      cli.answer(options, lane, () => laneWords(lane))
    })
}

/** `holdfast workers ls|drain|resume`. */
export function addWorkers(program: Command, cli: Cli): void {
  const workers = program.command('workers').summary('list workers, drain them, and let them claim again')
  cli
    .watching(workers, 'ls', 'Lists the workers that live: what they run, and how their processes are.')
    .addHelpText('after', examples('workers ls --watch'))
    .action((options: Common) =>
      cli.show(
        options,
        async ({ flow }) => ({ workers: (await flow.workers()).workers }),
        (found) => workerTable(cli.screen, found.workers),
      ),
    )
  const ofOne = ['<id>', 'the number of the worker', Number] as const
  cli
    .changing(
      workers,
      'drain',
      'Orders a worker to finish what it has and to claim no more. An SDK worker waits then, until it is stopped or resumed; one that works over HTTP ends.',
    )
    .argument(...ofOne)
    .addHelpText('after', examples('workers drain 7 --why "its host is replaced"'))
    .action(async (id: number, options: Common) => {
      await cli.using(options, ({ flow }) => flow.drainWorker(id, why(options)))
      cli.answer(options, { id, draining: true }, () => `Worker ${id} finishes what it has.`)
    })
  cli
    .changing(
      workers,
      'resume',
      'Lets a worker claim again that was drained. Of a whole build that was drained, resume the build.',
    )
    .argument(...ofOne)
    .addHelpText('after', examples('workers resume 7'))
    .action(async (id: number, options: Common) => {
      await cli.using(options, ({ flow }) => flow.resumeWorker(id, why(options)))
      cli.answer(options, { id, draining: false }, () => `Worker ${id} claims again.`)
    })
}

function settings(command: Command): Command {
  return command
    .option('--slots <n>', 'most jobs of it running at once in the whole fleet, or none')
    .option('--worker-slots <n>', 'most jobs of it running at once in one worker, or none')
    .option('--poll <time>', 'how often workers look where no notification comes, such as 1s')
    .option('--lease <time>', 'how long a silent worker keeps its jobs, such as 60s, or none for that of the worker')
    .option('--ageing <time>', 'how long a job waits to be taken as if it had one priority more')
    .option('--unsafe', 'take a lease outside of 60s to 1h')
}

function changeOf({ slots, workerSlots, poll, lease, ageing, unsafe }: LaneOptions): LaneBody {
  return defined({
    slots: slots === undefined ? undefined : countOf(slots, '--slots'),
    worker_slots: workerSlots === undefined ? undefined : countOf(workerSlots, '--worker-slots'),
    ...{ poll, ageing, unsafe, lease: lease === 'none' ? null : lease },
  })
}

function laneWords({ name, slots, worker_slots, poll_ms, lease_ms, enabled, in_use, types, overrides }: LaneAnswer): string {
  const parts = [
    enabled ? 'runs' : 'drains',
    slots === null ? `${in_use} running` : `${in_use} of ${slots} slots in use`,
    ...(worker_slots === null ? [] : [`${worker_slots} slots a worker`]),
    `poll ${formatDuration(poll_ms)}`,
    ...(lease_ms === null ? [] : [`lease ${formatDuration(lease_ms)}`]),
    types.length === 0 ? 'no types' : `types ${types.join(', ')}`,
  ]
  return [`${name}  ${parts.join('  ')}`, ...overrideLines(overrides)].join('\n')
}
