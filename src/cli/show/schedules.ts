import type { ScheduleAnswer, ScheduleStoryAnswer } from '../../api/schedules.js'
import { ago, type Screen } from '../screen.js'

const columns = [
  { head: 'NAME' },
  { head: 'WHEN', cut: true },
  { head: 'TYPE', cut: true },
  { head: 'STATUS' },
  { head: 'NEXT', right: true },
  { head: 'NOTES', cut: true },
]

/** Schedules as a table. */
export function scheduleTable(screen: Screen, schedules: readonly ScheduleAnswer[]): string {
  const rows = schedules.map((one) => [one.name, timing(one), one.type, one.status, ago(one.next), notesOf(one).join(', ')])
  return screen.table(columns, rows, 'There are no schedules.')
}

/** One schedule with its latest ticks. */
export function scheduleLines(screen: Screen, state: ScheduleStoryAnswer): string {
  const { missed, overlap, jitter, code, dropped } = state
  const rules = [
    `missed: ${typeof missed === 'string' ? missed : `all up to ${missed.all}`}`,
    `overlap: ${overlap}`,
    `jitter: ${jitter}`,
  ]
  const differs = Object.entries(code?.differs ?? {}).map(
    ([field, value]) => `  the code says ${field}: ${JSON.stringify(value)}`,
  )
  const lost = dropped ? [`  ${dropped.ticks} missed ticks were not made up for, the last of ${dropped.last}`] : []
  const ticks = state.ticks.map(({ tick, kind, outcome, job, status, in_the_way }) =>
    [`  ${tick}`, kind, outcome, job ?? `for ${in_the_way}`, status ?? ''].join('  ').trimEnd(),
  )
  const head = [screen.bold(state.name), timing(state), state.type, state.status, ...(state.next ? [`next ${state.next}`] : [])]
  const reasons = reasonLines(screen, state.reasons)
  return [[...head, ...notesOf(state)].join('  '), `  ${rules.join('  ')}`, ...differs, ...lost, ...reasons, ...ticks].join('\n')
}

/** Why a schedule makes no job now. */
export function reasonLines(screen: Screen, reasons: ScheduleStoryAnswer['reasons']): string[] {
  return reasons.flatMap(({ why, opens }) => [`  ${why}`, `  ${screen.dim('opens with')} ${opens}`])
}

function timing({ cron, every, time_zone }: ScheduleAnswer): string {
  return cron === null ? `every ${every}` : `${cron} (${time_zone})`
}

function notesOf({ code }: ScheduleAnswer): string[] {
  return [
    ...(code?.gone_since ? ['gone from code'] : []),
    ...(code && Object.keys(code.differs).length > 0 ? ['changed by an operator'] : []),
  ]
}
