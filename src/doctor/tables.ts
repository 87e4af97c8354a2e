import { formatDuration } from '../job/duration.js'
import type { CatalogFacts, HolderFacts, TableFacts } from '../store/doctor-store.js'
import { type DoctorFinding, finding } from './finding.js'

/** From where on the facts are findings. */
export interface Thresholds {
  /** How long a transaction may be open: an error after twelve times as long. */
  transactionMs: number
  /** Dead rows of one table that vacuum should have removed by then. */
  deadRows: number
  /** Rows of one table changed since it was analyzed. */
  changedRows: number
  /** Bytes of the server's log that are kept for a slot that nobody reads. */
  slotBytes: number
}

export const usualThresholds: Thresholds = {
  transactionMs: 300_000,
  deadRows: 20_000,
  changedRows: 50_000,
  slotBytes: 1_073_741_824,
}

/** Tables with more dead rows than live ones: every claim walks over them. */
export function bloatFindings(tables: readonly TableFacts[], { deadRows }: Thresholds): DoctorFinding[] {
  const found = tables
    .filter(({ live, dead }) => dead >= deadRows && dead > live)
    .map(({ name, live, dead }) =>
      finding(
        'warning',
        'bloat',
        `the table ${name} has more dead rows than live ones, and whatever reads it walks over them`,
        [`${dead} dead rows, ${live} live ones`],
        `vacuum (analyze) holdfast.${name}; -- and end what keeps vacuum from it: a long_transaction below`,
      ),
    )
  const never = tables.filter(({ never_vacuumed }) => never_vacuumed)
  return [
    ...found,
    ...never.map(({ name }) =>
      finding(
        'warning',
        'autovacuum_disabled',
        `autovacuum is turned off for the table ${name}, so its dead rows stay`,
        ['autovacuum_enabled = off'],
        `In psql: alter table holdfast.${name} reset (autovacuum_enabled);`,
      ),
    ),
  ]
}

/** Tables that grew or changed so much since they were analyzed that plans are guesses. */
export function statisticsFindings(tables: readonly TableFacts[], { changedRows }: Thresholds): DoctorFinding[] {
  return tables
    .filter(({ live, changed }) => changed >= changedRows && changed > live / 2)
    .map(({ name, live, changed }) =>
      finding(
        'warning',
        'stale_statistics',
        `the statistics of the table ${name} are stale, so PostgreSQL may choose a slow plan`,
        [`${changed} rows changed since it was analyzed, ${live} live`],
        `analyze holdfast.${name};`,
      ),
    )
}

/** What holds back the oldest transaction that vacuum has to spare. */
export function holderFindings(holders: readonly HolderFacts[], { transactionMs, slotBytes }: Thresholds): DoctorFinding[] {
  return holders.flatMap((holder) => {
    if (holder.kind === 'slot') return slotFinding(holder, slotBytes)
    const { kind, name, who, age } = holder
    if (age === null || age < transactionMs) return []
    const severity = age >= 12 * transactionMs ? 'error' : 'warning'
    const evidence = [`${kind === 'session' ? `session ${name}` : `transaction ${name}`} (${who})`, `open for ${formatted(age)}`]
    if (kind === 'session') {
      const message = 'a transaction is open for long, and vacuum removes no row that was deleted since it began'
      return finding(
        severity,
        'long_transaction',
        message,
        evidence,
        `end it in its program, or: select pg_terminate_backend(${name});`,
      )
    }
    const message = 'a prepared transaction was left open: it keeps its locks, and vacuum removes no row that was deleted since'
    return finding(
      severity,
      'prepared_transaction',
      message,
      evidence,
      `end it: commit prepared '${name}'; or rollback prepared '${name}';`,
    )
  })
}

function slotFinding({ name, who, active, behind }: HolderFacts, slotBytes: number): DoctorFinding[] {
  if (active) return []
  const evidence = [
    `slot ${name} (${who})`,
    ...(behind === null ? [] : [`${Math.round(behind / 1_048_576)} MB of the log are kept`]),
  ]
  const message =
    'nobody reads a replication slot: the server keeps its log for it, and may keep dead rows, until the disk is full'
  const severity = (behind ?? 0) >= slotBytes ? 'error' : 'warning'
  return [
    finding(severity, 'unused_slot', message, evidence, `start its reader, or: select pg_drop_replication_slot('${name}');`),
  ]
}

/** Indexes that PostgreSQL writes and never reads, left by a build that failed. */
export function indexFindings({ indexes }: CatalogFacts): DoctorFinding[] {
  return indexes
    .filter(({ valid }) => !valid)
    .map(({ name, table }) =>
      finding(
        'warning',
        'invalid_index',
        `the index ${name} is invalid: it costs every write to ${table}, and no query uses it`,
        [`${name} on ${table}`],
        `reindex index concurrently holdfast.${name}; -- or drop it, if it is yours`,
      ),
    )
}

function formatted(ms: number): string {
  return formatDuration(Math.max(1_000, Math.round(ms / 1_000) * 1_000))
}
