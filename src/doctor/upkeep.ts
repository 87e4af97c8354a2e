import { formatDuration } from '../job/duration.js'
import { type LaneFacts, mostCounted, type PartitionFacts, type WorkerFacts } from '../store/doctor-store.js'
import { type DoctorFinding, finding } from './finding.js'

/** Workers look for what has had its time every ten minutes. */
const retentionIdleMs = 3_600_000
/** Every installation has these from the beginning, used or not. */
const built = ['default', 'interactive', 'maintenance', 'system']

/** Days that are missing, or that should be gone by now. */
export function partitionFindings(
  { missing, idle, overdue, unarchived }: PartitionFacts,
  workers: readonly WorkerFacts[],
): DoctorFinding[] {
  const found: DoctorFinding[] = []
  if (missing.length > 0) {
    const message =
      'partitions of today or tomorrow are missing, so rows land in the default partition and are removed one by one later'
    const remedy = 'start a worker, which makes them within a minute; where one runs, its log says what is in the way'
    found.push(finding('warning', 'missing_partitions', message, missing, remedy))
  }
  if (unarchived.length > 0) {
    // Whatever else stays, stays because of these.
    const message = 'days that have had their time are kept because they are not archived, as the setting archive_first says'
    const remedy =
      'holdfast archive --to <directory>, and let something run it every day; or holdfast settings set archive_first 0'
    found.push(finding('warning', 'archive_behind', message, unarchived, remedy))
  } else if (overdue.length > 0) {
    const message = 'days that should have been dropped are still there and take up disk'
    const remedy =
      idle === null || idle > retentionIdleMs
        ? 'start a worker, or holdfast serve --upkeep: retention does not run'
        : 'look for jobs of those days that still wait or are dead (holdfast dlq ls); a day with more than 5,000 of them stays'
    found.push(finding('warning', 'retention_behind', message, overdue, remedy))
  } else if (idle !== null && idle > retentionIdleMs && workers.length > 0) {
    const message = 'no worker has gone through what has had its time for more than an hour'
    const evidence = [`last ${formatDuration(Math.round(idle / 60_000) * 60_000)} ago`]
    found.push(finding('warning', 'retention_idle', message, evidence, 'read the log of a worker: "upkeep of retention" fails'))
  }
  return found
}

/** Lanes with jobs that nobody runs, and lanes that nothing is in. */
export function laneFindings(lanes: readonly LaneFacts[]): DoctorFinding[] {
  return lanes.flatMap(({ name, enabled, types, free, workers }) => {
    if (free > 0 && workers === 0) {
      const count = free >= mostCounted ? `${mostCounted} or more` : String(free)
      return finding(
        'error',
        'unserved_lane',
        `jobs wait in the lane ${name}, and no worker that lives runs any of its types`,
        [`${count} jobs`, `types ${types.join(', ')}`],
        `start a worker for ${types.join(', ')} (holdfast work ./handlers.js)`,
      )
    }
    if (free > 0 && !enabled) {
      const message = `jobs wait in the lane ${name}, which drains`
      return finding('warning', 'drained_lane', message, [`${free} jobs`], `holdfast lanes resume ${name}`)
    }
    if (types.length === 0 && !built.includes(name)) {
      const message = `no job type is in the lane ${name}, so it does nothing`
      return finding('note', 'unused_lane', message, [], `move a type into it: holdfast lanes types ${name} <type…>`)
    }
    return []
  })
}
