import type { DurabilitySettings } from '../store/rows.js'
import { type DoctorFinding, finding } from './finding.js'

/** What this server may lose of what it has acknowledged, for each setting that allows it. */
export function durabilityFindings({ fsync, pages, commits, standbys }: DurabilitySettings): DoctorFinding[] {
  const found: DoctorFinding[] = []
  const off = (setting: string, message: string) =>
    found.push(finding('error', `${setting}_off`, message, [`${setting} = off`], setOn(setting)))
  if (fsync === 'off') off('fsync', 'fsync is off: a crash of the machine can destroy the database and every job in it')
  if (pages === 'off') {
    const message = 'full_page_writes is off: a crash of the machine can leave half-written pages, and jobs on them are lost'
    off('full_page_writes', message)
  }
  if (commits === 'off') {
    const message = 'synchronous_commit is off: a crash of PostgreSQL loses jobs that were acknowledged in its last moments'
    off('synchronous_commit', message)
  }
  // Without standbys that commits wait for, it means the same as on.
  if (commits === 'local' && standbys !== '') {
    const message = 'synchronous_commit is local: a failover loses acknowledged jobs that had not reached the standby yet'
    const evidence = ['synchronous_commit = local', `synchronous_standby_names = ${standbys}`]
    found.push(finding('warning', 'synchronous_commit_local', message, evidence, setOn('synchronous_commit')))
  }
  return found
}

function setOn(setting: string): string {
  const everywhere = `alter system set ${setting} = on; select pg_reload_conf();`
  if (setting !== 'synchronous_commit') return everywhere
  return `${everywhere} -- and where a role or database sets it: alter role … reset synchronous_commit`
}
