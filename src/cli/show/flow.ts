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
    { head: 'LAG', right: true },
    { head: 'MEMORY', right: true },
    { head: 'CONNS', right: true },
    { head: 'TYPES', cut: true },
    { head: 'NOTES' },
  ]
  const rows = workers.map(({ id, name, host, build, jobs, types, stalled, drained, ...worker }) => [
    ...[String(id), name, host, build ?? '', String(jobs), ago(worker.started_at), short(worker.silent_ms)],
    worker.lag_ms === null ? '' : `${worker.lag_ms} ms`,
    worker.memory_bytes === null ? '' : `${Math.round(worker.memory_bytes / 1_048_576)} MB`,
    worker.connections === null ? '' : String(worker.connections),
    types.join(', '),
    [...(stalled ? ['stalled'] : []), ...(drained ? ['drained'] : []), ...(worker.remote ? ['HTTP'] : [])].join(', '),
  ])
  return screen.table(columns, rows, 'There are no workers.')
}
