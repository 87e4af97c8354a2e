import type { Firing, Fleet, Gates } from '../../api/answers.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { inWords } from '../../parts/time.js'
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

function findingsOf({ fleet, gates, firing }: InTheWayProps): Finding[] {
  const served = new Set(fleet.workers.filter(({ stalled }) => !stalled).flatMap(({ types }) => types))
  const ofType = (type: string) => `/types/${encodeURIComponent(type)}`
  const found: Finding[] = [
    ...fleet.depths
      .filter(({ type, waiting }) => waiting > 0 && !served.has(type))
      .map(({ type, waiting, oldest_ms }): Finding => {
        const say = `no worker runs it, and ${waiting} wait, the oldest for ${inWords(oldest_ms ?? 0)}`
        return { about: type, to: ofType(type), status: 'dead', say }
      }),
    ...gates.types.flatMap(({ type, gate }): Finding[] => {
      const { breaker, paused } = gate ?? {}
      return [
        ...(breaker?.open ? [finding(type, 'dead', `its breaker is open: ${breaker.reason ?? 'an operator holds it'}`)] : []),
        ...(paused
          ? [
              finding(
                type,
                'failed',
                `paused by ${paused.by}${paused.until ? ` until ${paused.until}` : ''}${paused.why ? `: ${paused.why}` : ''}`,
              ),
            ]
          : []),
      ]
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

  function finding(type: string, status: Finding['status'], say: string): Finding {
    return { about: type, to: ofType(type), status, say }
  }
}
