import type { LaneAnswer, TypeGateAnswer, WorkersAnswer } from '../../api/admin.js'
import { formatDuration } from '../../job/duration.js'
import { ago, type Screen, short } from '../screen.js'
import { limitWords, shutWords } from './gates.js'

export function laneTable(screen: Screen, lanes: readonly LaneAnswer[]): string {
  const columns = [
    { head: 'LANE' },
    { head: 'STATE' },
    { head: 'IN USE', right: true },
    { head: 'SLOTS', right: true },
    { head: 'A WORKER', right: true },
    { head: 'POLL', right: true },
    { head: 'TYPES', cut: true },
  ]
  const rows = lanes.map(({ name, enabled, in_use, slots, worker_slots, poll_ms, types }) => [
    ...[name, enabled ? 'runs' : 'drains', String(in_use), slots === null ? '' : String(slots)],
    ...[worker_slots === null ? '' : String(worker_slots), formatDuration(poll_ms), types.join(', ')],
  ])
  return screen.table(columns, rows, 'There are no lanes.')
}

export function typeTable(screen: Screen, types: readonly TypeGateAnswer[], depths: WorkersAnswer['depths']): string {
  const columns = [
    { head: 'TYPE', cut: true },
    { head: 'LANE', cut: true },
    { head: 'WAITING', right: true },
    { head: 'LATER', right: true },
    { head: 'BLOCKED', right: true },
    { head: 'OLDEST', right: true },
    { head: 'LIMITS', cut: true },
    { head: 'SHUT', cut: true },
  ]
  const depthOf = new Map(depths.map((depth) => [depth.type, depth]))
  const count = (number = 0) => (number === 0 ? '' : String(number))
  const rows = types.map(({ type, lane, gate }) => {
    const { waiting, scheduled, blocked, oldest_ms = null } = depthOf.get(type) ?? {}
    return [
      ...[type, lane, String(waiting ?? 0), count(scheduled), count(blocked), oldest_ms === null ? '' : short(oldest_ms)],
      ...(gate === null ? ['', ''] : [limitWords(gate).join(', '), shutWords(gate).join(', ')]),
    ]
  })
  return screen.table(columns, rows, 'There are no job types.')
}

export function workerTable(screen: Screen, workers: WorkersAnswer['workers']): string {
  const columns = [
    { head: 'ID', right: true },
    { head: 'NAME', cut: true },
    { head: 'HOST', cut: true },
    { head: 'BUILD' },
    { head: 'JOBS', right: true },
    { head: 'UP', right: true },
    { head: 'SILENT', right: true },
    { head: 'TYPES', cut: true },
    { head: 'NOTES' },
  ]
  const rows = workers.map(({ id, name, host, build, jobs, started_at, silent_ms, types, stalled, drained }) => [
    ...[String(id), name, host, build ?? '', String(jobs), ago(started_at), short(silent_ms), types.join(', ')],
    [...(stalled ? ['stalled'] : []), ...(drained ? ['drained'] : [])].join(', '),
  ])
  return screen.table(columns, rows, 'There are no workers.')
}
