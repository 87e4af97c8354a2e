import type { DurabilitySettings } from '../store/rows.js'

/** What this server may lose of what it has acknowledged, one sentence for each setting that allows it. */
export function durabilityWarnings({ fsync, pages, commits, standbys }: DurabilitySettings): string[] {
  const warnings: string[] = []
  if (fsync === 'off') warnings.push('fsync is off: a crash of the machine can destroy the database and every job in it')
  if (pages === 'off') {
    warnings.push('full_page_writes is off: a crash of the machine can leave half-written pages, and jobs on them are lost')
  }
  if (commits === 'off') {
    warnings.push('synchronous_commit is off: a crash of PostgreSQL loses jobs that were acknowledged in its last moments')
  }
  // Without standbys that commits wait for, it means the same as on.
  if (commits === 'local' && standbys !== '') {
    warnings.push('synchronous_commit is local: a failover loses acknowledged jobs that had not reached the standby yet')
  }
  return warnings
}
