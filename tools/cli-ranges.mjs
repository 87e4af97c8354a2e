// What the options of commands may be, and what they are where they are left out. Most of them say what an option of the library says, so its
// range and its default stand there, and it is named here.
import { declaredOptions } from './declared-options.mjs'

/** By the option, or by its command and the option where commands differ. */
const from = {
  '--concurrency': 'WorkerOptions.concurrency',
  '--drain': 'WorkerOptions.drain',
  'work --memory': 'WorkerOptions.memory',
  'work --types': 'WorkerOptions.types',
  'work --lanes': 'WorkerOptions.lanes',
  'work --name': 'WorkerOptions.name',
  '--at-once': 'ReencryptOptions.atOnce',
  '--delay': 'JobTaskOptions.delay',
  'enqueue --delay': 'JobOptions.delay',
  '--at': 'JobOptions.runAt',
  '--priority': 'JobOptions.priority',
  '--max-attempts': 'JobOptions.maxAttempts',
  '--expire-in': 'JobOptions.expireIn',
  '--at-most': 'ManyOptions.atMost',
  '--every': 'ScheduleDefinition.every',
  '--time-zone': 'ScheduleDefinition.timeZone',
  '--overlap': 'ScheduleDefinition.overlap',
  '--start': 'ScheduleDefinition.start',
  '--end': 'ScheduleDefinition.end',
  '--jitter': 'ScheduleDefinition.jitter',
  '--workflow-version': 'StartOptions.version',
  '--slots': 'LaneFields.slots',
  '--worker-slots': 'LaneFields.workerSlots',
  '--poll': 'LaneFields.poll',
  '--lease': 'LaneFields.lease',
  '--ageing': 'LaneFields.ageing',
  '--soft': 'DepthFields.soft',
  '--hard': 'DepthFields.hard',
  '--oldest': 'DepthFields.oldest',
  '--scheduled': 'DepthFields.scheduled',
  '--retrying': 'DepthFields.retrying',
  '--unapproved': 'DepthFields.unapproved',
  '--blocked': 'DepthFields.blocked',
  '--for': 'ForATime.for',
  '--max-running': 'Limits.maxRunning',
  '--max-running-per-key': 'Limits.maxRunningPerKey',
  '--rate': 'Limits.rate',
  '--rate-per-key': 'Limits.ratePerKey',
  '--threshold': 'RuleFields.threshold',
  '--min-priority': 'RuleFields.minPriority',
  'alerts set --for': 'RuleFields.for',
  '--hold': 'RuleFields.hold',
  '--rate-limit': 'KeyFields.rateLimit',
  '--expires': 'KeyFields.expires',
  '--transaction': 'DoctorOptions.transaction',
}

const anyTime = 'a time as 2026-03-01T00:00:00Z'
const anyDuration = '0 to 100 years'
const said = {
  '--limit': '1 to 100',
  'audit --limit': '1 to 1,000',
  '--count': '1 to 1,000',
  '<priority>': '0 to 9',
  '--revision': '1 to 2,147,483,647',
  '--pace': '0.01 to 1,000,000',
  '--breaker': 'between 0 and 1',
  '--missed': 'skip, once, or 1 to 1,000',
  '--interval': '500 ms to 1 h',
  '--timeout': anyDuration,
  '--within': anyDuration,
  'smoke --within': '1 s to 1 day',
  'alerts silence --for': anyDuration,
  '--grace': anyDuration,
  'alerts targets rotate --grace': '0 to 30 days',
  'keys rotate --grace': anyDuration,
  '--until': anyTime,
  '--from': anyTime,
  '--to': anyTime,
  'archive --to': '',
  '--created-after': anyTime,
  '--created-before': anyTime,
  '--ended-after': anyTime,
  '--ended-before': anyTime,
  '--died-from': anyTime,
  '--died-before': anyTime,
}

/** These make something new, and what is left out of it is as in the library. */
const making = [
  'enqueue',
  'serve',
  'work',
  'lanes create',
  'schedules create',
  'workflows start',
  'doctor',
  'keys create',
  'keys trust',
]
/** These change what is there, and leave as it is what is not named. */
const changing = ['lanes set', 'schedules change', 'types limit', 'dependencies limit', 'alerts set', 'depths set']
const defaults = {
  'keys rotate --grace': '1d',
  '--pace': 'none: as fast as it can',
  '--at-most': 'all',
  'schedules create --missed': 'once',
}

/** Range and default of an option or an argument of a command; empty: whatever its description says. */
export async function cliRanges() {
  const { variables } = await import('../dist/cli/environment.js')
  const declared = declaredOptions()
  const memberOf = (path) => {
    const [options, name] = path.split('.')
    const member = declared.get(options)?.find((one) => one.name === name)
    if (!member) throw new Error(`there is no option ${path}`)
    return member
  }
  return (command, { long, flags = long, description = '' }) => {
    const ofCommand = command.replace('holdfast ', '')
    const find = (map) => map[`${ofCommand} ${long}`] ?? map[long]
    const path = said[`${ofCommand} ${long}`] ? undefined : find(from)
    const named = /\b([A-Z_]*PORT)\b/.exec(description)?.[1]
    const ofVariable = variables.find(({ name }) => name === named)?.range
    const range = path ? memberOf(path).range : (find(said) ?? ofVariable ?? '')
    const asInLibrary = path && (making.includes(ofCommand) || path === 'ForATime.for')
    if (!flags.includes('<')) return { range, otherwise: 'off' }
    if (asInLibrary)
      return {
        range,
        otherwise: memberOf(path)
          .otherwise.replaceAll("'", '')
          .replace(/^null$/, 'none'),
      }
    const asItIs =
      changing.includes(ofCommand) &&
      !['--file', 'depths set --lane', 'depths set --type'].some((one) => [long, `${ofCommand} ${long}`].includes(one))
    return { range, otherwise: find(defaults) ?? (asItIs ? 'as it is' : 'none') }
  }
}
