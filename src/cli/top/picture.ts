import { type Screen, short } from '../screen.js'
import { type Column, cutTo, oneLine, table } from '../table.js'
import type { LaneNow, Snapshot, TypeNow } from './snapshot.js'

/** How much room there is; undefined: as much as it takes. */
export interface Room {
  width: number | undefined
  height: number | undefined
}

const barWidth = 20
const narrowBar = 8
/** Below this many columns bars are short. */
const wide = 100

/** The picture as lines, none wider and no more of them than there is room. What is cut off at the bottom is said. */
export function pictureOf(screen: Screen, now: Snapshot, { width, height }: Room): string[] {
  const bar = barOf(width !== undefined && width < wide ? narrowBar : barWidth)
  const head = [totals(screen, now, width), rates(screen, now, width)]
  const shut = now.shut.map((one) => screen.yellow(fit(`! ${one}`, width)))
  const lanes = section(
    screen,
    laneColumns,
    now.lanes.filter(isUsed).map((lane) => laneRow(lane, bar)),
    width,
  )
  const workers = section(screen, workerColumns, now.workers.map(workerRow), width)
  const before = [...head, ...shut, '', ...lanes, ...(lanes.length > 0 ? [''] : [])]
  // Types take what is left; workers are cut first, because they are many and alike.
  const left = height === undefined ? Number.POSITIVE_INFINITY : height - before.length
  const all = section(
    screen,
    typeColumns,
    now.types.map((type) => typeRow(type, now.types, bar)),
    width,
  )
  const types = all.length === 0 ? [screen.dim('No job waits or runs.')] : all
  const room = Math.max(4, left - Math.min(workers.length, Math.max(3, Math.floor(left / 3))) - 1)
  const shown = [...before, ...cutLines(screen, types, room)]
  const rest = height === undefined ? workers.length : height - shown.length - 1
  const below = workers.length === 0 ? [screen.yellow('There are no workers.')] : cutLines(screen, workers, rest)
  return [...shown, '', ...below].slice(0, height)
}

function totals({ bold }: Screen, now: Snapshot, width: number | undefined): string {
  const { waiting, scheduled, blocked, running, oldest_ms, workers } = now
  const parts: [string, string][] = [
    ['waiting', count(waiting)],
    ['running', count(running)],
    ['oldest', oldest_ms === null ? '–' : short(oldest_ms)],
    ['later', count(scheduled)],
    ['blocked', count(blocked)],
    ['workers', count(workers.length)],
  ]
  return painted(parts, bold, width)
}

function rates({ bold }: Screen, { rates: found }: Snapshot, width: number | undefined): string {
  if (!found) return fit('no rates yet: a worker samples them every ten seconds', width)
  const each = (number: number) => `${number >= 100 ? Math.round(number) : number.toFixed(1)}/s`
  const parts: [string, string][] = [
    ['in', each(found.enqueued)],
    ['out', each(found.completed)],
    ['failed', each(found.failed)],
    ['dead', each(found.dead)],
  ]
  return painted(parts, bold, width)
}

/** As many of them as fit. */
function painted(parts: readonly [string, string][], paint: (text: string) => string, width = Number.POSITIVE_INFINITY): string {
  const shown: string[] = []
  let used = 0
  for (const [name, value] of parts) {
    const length = name.length + 1 + value.length + (shown.length > 0 ? 3 : 0)
    if (used + length > width) break
    used += length
    shown.push(`${name} ${paint(value)}`)
  }
  return shown.join('   ')
}

const typeColumns: Column[] = [
  { head: 'TYPE', cut: true },
  { head: 'LANE', cut: true },
  { head: 'RUNNING', right: true },
  { head: 'WAITING', right: true },
  { head: 'LATER', right: true },
  { head: 'OLDEST', right: true },
  { head: 'SHARE', cut: true },
]

function typeRow({ type, lane, running, waiting, scheduled, oldest_ms }: TypeNow, all: readonly TypeNow[], bar: Bar): string[] {
  const most = Math.max(1, ...all.map((one) => one.running + one.waiting))
  const age = oldest_ms === null ? '' : short(oldest_ms)
  return [
    type,
    lane,
    count(running),
    count(waiting),
    scheduled === 0 ? '' : count(scheduled),
    age,
    bar((running + waiting) / most),
  ]
}

const laneColumns: Column[] = [
  { head: 'LANE', cut: true },
  { head: 'STATE' },
  { head: 'IN USE', right: true },
  { head: 'SLOTS', right: true },
  { head: 'WAITING', right: true },
  { head: 'FULL', cut: true },
]

function laneRow({ name, enabled, in_use, slots, waiting }: LaneNow, bar: Bar): string[] {
  const full = slots === null ? '' : bar(in_use / slots)
  return [name, enabled ? 'runs' : 'drains', count(in_use), slots === null ? '' : count(slots), count(waiting), full]
}

function isUsed({ in_use, waiting, enabled }: LaneNow): boolean {
  return in_use > 0 || waiting > 0 || !enabled
}

const workerColumns: Column[] = [
  { head: 'WORKER', right: true },
  { head: 'NAME', cut: true },
  { head: 'HOST', cut: true },
  { head: 'JOBS', right: true },
  { head: 'SILENT', right: true },
  { head: 'NOTES' },
]

function workerRow({ id, name, host, jobs, silent_ms, stalled }: Snapshot['workers'][number]): string[] {
  return [String(id), name, host, count(jobs), short(silent_ms), stalled ? 'stalled' : '']
}

function section(screen: Screen, columns: readonly Column[], rows: readonly string[][], width: number | undefined): string[] {
  if (rows.length === 0) return []
  // Of a very narrow terminal nothing but the beginning of a line can be seen.
  const [head = '', ...lines] = table(columns, rows, width).map((line) => (width === undefined ? line : cutTo(line, width)))
  return [screen.dim(head), ...lines]
}

function cutLines(screen: Screen, lines: readonly string[], room: number): string[] {
  if (lines.length <= room) return [...lines]
  const kept = Math.max(0, room - 1)
  return room < 1 ? [] : [...lines.slice(0, kept), screen.dim(`… and ${lines.length - kept} more`)]
}

type Bar = (share: number) => string

/** Blocks for a share of 0 to 1, in eighths. */
function barOf(width: number): Bar {
  const parts = ' ▏▎▍▌▋▊▉'
  return (share) => {
    const eighths = Math.round(Math.min(1, Math.max(0, share)) * width * 8)
    const rest = eighths % 8
    return '█'.repeat(Math.floor(eighths / 8)) + (rest === 0 ? '' : parts[rest])
  }
}

function count(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

function fit(text: string, width: number | undefined): string {
  return width === undefined ? oneLine(text) : cutTo(oneLine(text), width)
}
