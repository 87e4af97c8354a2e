import { type Duration, toMilliseconds } from '../job/duration.js'
import { refuseUnknown } from '../job/refused.js'
import type { DoctorFacts } from '../store/doctor-store.js'
import { expectedSchema } from '../store/expected-schema.js'
import { newestSchemaFile } from '../store/query-files.js'
import { inSchema } from '../store/schema-name.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'
import { version } from '../version.js'
import { driftFindings } from './drift.js'
import { durabilityFindings } from './durability.js'
import type { DoctorFinding } from './finding.js'
import { cleaningFindings, clockFindings, connectionFindings, wakeUpFindings } from './server.js'
import { bloatFindings, holderFindings, indexFindings, statisticsFindings, type Thresholds, usualThresholds } from './tables.js'
import { laneFindings, partitionFindings } from './upkeep.js'

/** What a check-up found, the worst first, and what it looked at. */
export interface CheckUp {
  /** The worst that it found, in one word. Notes are fine. */
  verdict: 'fine' | 'warnings' | 'errors'
  findings: DoctorFinding[]
  /** Everything it looked at, also where it found nothing: `durability`, `connections`, `bloat`. */
  checked: string[]
}

/** From where on a check-up finds fault. */
export interface DoctorOptions {
  /**
   * How long a transaction may be open.
   * @range 0 to 100 years
   * @default '5m'
   */
  transaction?: Duration
}

type Check = (facts: DoctorFacts, thresholds: Thresholds) => DoctorFinding[]

/** Every check, by its name. */
const checks: Readonly<Record<string, Check>> = {
  durability: ({ durability }) => durabilityFindings(durability),
  connections: ({ server, workers }) => connectionFindings(server, workers),
  cleaning: ({ server }) => cleaningFindings(server),
  bloat: ({ tables }, thresholds) => bloatFindings(tables, thresholds),
  transactions: ({ holders }, thresholds) => holderFindings(holders, thresholds),
  statistics: ({ tables }, thresholds) => statisticsFindings(tables, thresholds),
  indexes: ({ catalog }) => indexFindings(catalog),
  clock: ({ clock }) => clockFindings(clock),
  'wake-ups': (facts) => wakeUpFindings(facts),
  retention: ({ partitions, workers }) => partitionFindings(partitions, workers),
  lanes: ({ lanes }) => laneFindings(lanes),
}

const severities = ['error', 'warning', 'note'] as const

/** Looks at the server, the schema and the fleet, and says what is wrong with them and what to do. */
export async function checkUp(store: Store, options: DoctorOptions = {}): Promise<CheckUp> {
  refuseUnknown(options, ['transaction'])
  const { transaction = usualThresholds.transactionMs } = options
  const thresholds = { ...usualThresholds, transactionMs: toMilliseconds(transaction, 'transaction') }
  const { schema } = store.database
  try {
    const facts = await store.doctor.facts()
    const all: Readonly<Record<string, Check>> = { ...checks, schema: () => driftOf(facts, schema) }
    const found = Object.values(all).flatMap((check) => check(facts, thresholds))
    const findings = found.map((one) => ({ ...one, remedy: inSchema(one.remedy, schema) }))
    findings.sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))
    return { verdict: verdictOf(findings), findings, checked: Object.keys(all) }
  } catch (error) {
    throw explained(error)
  }
}

export function verdictOf(findings: readonly DoctorFinding[]): CheckUp['verdict'] {
  if (findings.some(({ severity }) => severity === 'error')) return 'errors'
  return findings.some(({ severity }) => severity === 'warning') ? 'warnings' : 'fine'
}

function driftOf({ catalog, release }: DoctorFacts, schema: string): DoctorFinding[] {
  const there = { there: release.release, newestThere: release.newest }
  return driftFindings(catalog, expectedSchema(schema), { here: version, newestHere: newestSchemaFile(), ...there })
}
