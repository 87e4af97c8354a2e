import { formatDuration } from '../job/duration.js'
import type { ClockFacts, DoctorFacts, ServerFacts, WorkerFacts } from '../store/doctor-store.js'
import { waysToBeNotified } from '../store/listener.js'
import { type DoctorFinding, finding } from './finding.js'

/** Producers send no notifications from here on, because a full queue would fail their commit. */
const notifyQueueFull = 0.5
/** Clocks of machines that ask a time server are nearer to each other than this. */
const skewMs = 1_000

/** Too few connections for what the workers may open, beside those that others hold. */
export function connectionFindings({ settings, used, ours }: ServerFacts, workers: readonly WorkerFacts[]): DoctorFinding[] {
  const setting = (name: string) => Number(settings[name] ?? 0)
  const room = setting('max_connections') - setting('superuser_reserved_connections') - setting('reserved_connections')
  const fleet = fleetConnections(workers)
  const others = used - ours
  if (fleet + others <= room) return []
  const evidence = [
    `${fleet} connections that ${workers.length} workers may open`,
    `${others} that other programs hold now`,
    `${room} that the server gives to ordinary roles (max_connections less those that are reserved)`,
  ]
  const message = 'the workers may open more connections than the server has, so claims and enqueues wait or fail under load'
  const remedy = `raise max_connections to ${fleet + others + (setting('max_connections') - room) + 10} or more and restart PostgreSQL, or give workers a smaller pool (connections)`
  return [finding(fleet > room ? 'error' : 'warning', 'too_few_connections', message, evidence, remedy)]
}

/** Workers of one process share its pool; each keeps one connection of its own beside it. */
export function fleetConnections(workers: readonly WorkerFacts[]): number {
  const pools = new Map<string, number>()
  for (const { host, pid, connections } of workers) {
    const process = `${host} ${pid}`
    pools.set(process, Math.max(pools.get(process) ?? 0, connections ?? 0))
  }
  return workers.filter(({ remote }) => !remote).length + [...pools.values()].reduce((sum, most) => sum + most, 0)
}

/** Settings and rights without which nobody cleans up, or nobody can look. */
export function cleaningFindings({ settings, sees_all }: ServerFacts): DoctorFinding[] {
  const off = ['autovacuum', 'track_counts'].filter((name) => settings[name] === 'off')
  const found = off.map((name) =>
    finding(
      'error',
      `${name}_off`,
      `${name} is off, so nobody removes dead rows: the queue gets slower with every job`,
      [`${name} = off`],
      `alter system set ${name} = on; select pg_reload_conf();`,
    ),
  )
  if (sees_all) return found
  const message = 'this role does not see what other sessions do, so long transactions of others were not looked for'
  const remedy = 'grant pg_read_all_stats to the role that looks, or run holdfast doctor as one that has it'
  return [...found, finding('note', 'sessions_unseen', message, [], remedy)]
}

/** Notifications that do not arrive. Jobs then wait for the next poll. */
export function wakeUpFindings({ hears, workers, server }: Pick<DoctorFacts, 'hears' | 'workers' | 'server'>): DoctorFinding[] {
  const unreachable = workers.filter(({ swallowed }) => swallowed)
  const found: DoctorFinding[] = []
  if (unreachable.length > 0) {
    const evidence = unreachable.map(({ id, name }) => `worker ${id} (${name})`)
    const message = 'notifications do not reach workers, so workers poll five times a second and jobs start later'
    found.push(finding('warning', 'swallowed_wake_ups', message, evidence, waysToBeNotified))
  }
  if (typeof hears === 'string') {
    const message = `on this connection ${hears}: workers and waits with its addresses poll instead`
    const evidence = ['a notification was sent to itself, and did not arrive']
    found.push(finding('warning', 'swallowed_wake_ups_here', message, evidence, waysToBeNotified))
  } else if (hears === undefined) {
    const message = 'whether notifications arrive was not found out in time'
    found.push(finding('note', 'wake_ups_unknown', message, [], 'run holdfast doctor again'))
  }
  if (server.notify_queue >= notifyQueueFull) {
    const message = 'the queue of notifications is half full, so producers send none and jobs wait for the next poll'
    const evidence = [`${Math.round(server.notify_queue * 100)} % of it is used`]
    const remedy = 'end the session that listens and never reads: it is idle in a transaction (holdfast doctor names long ones)'
    found.push(finding('error', 'notify_queue_full', message, evidence, remedy))
  }
  return found
}

/** Clocks that disagree. Jobs run by the clock of the database alone; people compare log lines of both. */
export function clockFindings({ here, server, ours, within }: ClockFacts): DoctorFinding[] {
  const found: DoctorFinding[] = []
  const skew = here - server
  if (Math.abs(skew) - within > skewMs) {
    const by = formatDuration(Math.round(Math.abs(skew) / 100) * 100)
    const message = `the clock of this machine is ${by} ${skew > 0 ? 'ahead of' : 'behind'} that of the database, so log lines and job times do not fit together`
    const evidence = [`here ${new Date(here).toISOString()}`, `database ${new Date(server).toISOString()}`]
    found.push(
      finding('warning', 'clock_skew', message, evidence, 'let both machines ask a time server (timedatectl set-ntp true)'),
    )
  }
  if (Math.abs(ours - server) > skewMs) {
    const message = 'the clock of Holdfast is not that of the server: a test moved it, and jobs become due by the moved clock'
    const evidence = [`Holdfast ${new Date(ours).toISOString()}`, `server ${new Date(server).toISOString()}`]
    found.push(
      finding('error', 'clock_replaced', message, evidence, 'run the schema of holdfast migrate on a database of its own'),
    )
  }
  return found
}
