import { type Command, Option } from 'commander'
import { type ScheduleChange, scheduleBody, scheduleChange } from '../../api/schedules.js'
import { type Common, moment, parsed } from '../cli.js'
import { defined } from '../defined.js'
import { readJsonFile } from '../json-file.js'
import { why } from './jobs.js'

export interface ScheduleOptions extends Common {
  file?: string
  type?: string
  payload?: string
  cron?: string
  every?: string
  timeZone?: string
  start?: string
  end?: string
  jitter?: string
  missed?: string
  overlap?: 'allow' | 'skip' | 'queue' | 'cancel'
  priority?: number
  maxAttempts?: number
  key?: string
  tag?: string[]
}

/** What a schedule is made of, as options. */
export function scheduleFields(command: Command): Command {
  return command
    .option('--file <path>', 'its fields from a file of JSON, as POST /admin/schedules takes them; - is standard input')
    .option('--type <name>', 'the type of its jobs')
    .option('--payload <json>', 'their payload')
    .addOption(new Option('--cron <expression>', 'when it ticks, such as "0 3 * * *"').conflicts('every'))
    .option('--every <time>', 'or how often, such as 15m')
    .option('--time-zone <name>', 'whose clock cron means, such as Europe/Vienna')
    .option('--start <time>', 'no tick before')
    .option('--end <time>', 'no tick after')
    .option('--jitter <time>', 'jobs are due at most so much later, each otherwise')
    .option('--missed <policy>', 'ticks that nobody was there for: skip, once, or how many of the last')
    .addOption(
      new Option('--overlap <policy>', 'while the job before has not ended').choices(['allow', 'skip', 'queue', 'cancel']),
    )
    .addOption(new Option('--priority <n>', '0 (low) to 9 (high)').argParser(Number))
    .addOption(new Option('--max-attempts <n>', '1 to 20').argParser(Number))
    .option('--key <key>', 'the concurrency key of its jobs')
    .option('--tag <tag...>', 'the tags of its jobs')
}

/** The fields that were given: those of the file, and before them those that were typed. */
export function scheduleOf(options: ScheduleOptions, named?: string): ScheduleChange & { name?: string } {
  const schema = named === undefined ? scheduleChange : { ...scheduleBody, required: [] }
  const file = options.file === undefined ? {} : readJsonFile<ScheduleChange>(options.file, schema)
  const { type, cron, every, jitter, overlap, priority, missed } = options
  const typed = defined({
    ...{ type, cron, every, jitter, overlap, priority },
    payload: options.payload === undefined ? undefined : (parsed(options.payload, '--payload') as never),
    time_zone: options.timeZone,
    start: options.start === undefined ? undefined : moment(options.start, '--start'),
    end: options.end === undefined ? undefined : moment(options.end, '--end'),
    missed: missed === undefined || missed === 'skip' || missed === 'once' ? missed : { all: Number(missed) },
    max_attempts: options.maxAttempts,
    concurrency_key: options.key,
    tags: options.tag,
  })
  // Of when it ticks one holds: what is typed takes the place of what the file says.
  const { cron: _, every: __, ...others } = file
  const rest = cron === undefined && every === undefined ? file : others
  return { ...rest, ...typed, ...why(options) } as ScheduleChange & { name?: string }
}
