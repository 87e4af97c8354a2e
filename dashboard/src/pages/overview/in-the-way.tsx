import type { Dependency, Firing, Fleet, Gates } from '../../api/answers.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { exactTime, inWords } from '../../parts/time.js'
import { valueInWords } from '../alerts/kinds.js'

interface Finding {
  readonly about: string
  readonly to: string
  readonly status: 'dead' | 'failed'
  readonly say: string
}

interface InTheWayProps {
  readonly fleet: Fleet
  readonly gates: Gates
  readonly dependencies: readonly Dependency[]
  readonly firing: Firing['firing']
}

/** What keeps jobs from running, the worst first: nobody works, a breaker is open, something is paused, an alert fires. */
export function InTheWay(props: InTheWayProps) {
  const findings = findingsOf(props)
  if (findings.length === 0) return null
  return (
    <Card title="In the way">
      <ul className="findings">
        {findings.map(({ about, to, status, say }) => (
          <li key={`${about} ${say}`}>
            <Link to={to} className="status" data-status={status}>
              {about}
            </Link>
            <span>{say}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function findingsOf({ fleet, gates, dependencies, firing }: InTheWayProps): Finding[] {
  const served = new Set(fleet.workers.filter(({ stalled }) => !stalled).flatMap(({ types }) => types))
  const ofType = (type: string) => `/types/${encodeURIComponent(type)}`
  const found: Finding[] = [
    ...fleet.depths
      .filter(({ type, waiting }) => waiting > 0 && !served.has(type))
      .map(({ type, waiting, oldest_ms }): Finding => {
        const say = `no worker runs it, and ${waiting} wait, the oldest for ${inWords(oldest_ms ?? 0)}`
        return { about: type, to: ofType(type), status: 'dead', say }
      }),
    ...gates.types.flatMap(({ type, gate }) => (gate ? gateFindings(type, ofType(type), gate) : [])),
    ...dependencies.flatMap((dependency) => {
      const { name, types } = dependency
      const found = gateFindings(name, `/dependencies/${encodeURIComponent(name)}`, dependency)
      return found.map((one): Finding => ({ ...one, say: `${one.say}; ${types.length} types use it` }))
    }),
    ...fleet.lanes.flatMap(({ name, enabled, changed }): Finding[] =>
      enabled
        ? []
        : [{ about: name, to: '/lanes', status: 'failed', say: `this lane is drained${changed ? ` by ${changed.by}` : ''}` }],
    ),
    ...fleet.workers.flatMap(({ name, stalled, silent_ms }): Finding[] => {
      const say = `this worker has not asked for work for ${inWords(silent_ms)}`
      return stalled ? [{ about: name, to: '/lanes', status: 'failed', say }] : []
    }),
    ...firing
      .filter(({ kind }) => kind !== 'breaker')
      .map(({ rule, kind, subject, value, threshold }): Finding => {
        const say = `${subject}: ${valueInWords(kind, value)}, above ${valueInWords(kind, threshold)}`
        return { about: `alert ${rule}`, to: '/alerts', status: 'failed', say }
      }),
  ]
  return found.sort((one, other) => Number(other.status === 'dead') - Number(one.status === 'dead'))
}

/** A breaker that is open, and a pause, of a type or dependency. */
function gateFindings(about: string, to: string, { breaker, paused }: Pick<Dependency, 'breaker' | 'paused'>): Finding[] {
  const found: Finding[] = []
  if (breaker.open) {
    found.push({ about, to, status: 'dead', say: `its breaker is open: ${breaker.reason ?? 'an operator holds it'}` })
  }
  if (paused) {
    const until = paused.until ? ` until ${exactTime(paused.until)}` : ''
    found.push({ about, to, status: 'failed', say: `paused by ${paused.by}${until}${paused.why ? `: ${paused.why}` : ''}` })
  }
  return found
}
