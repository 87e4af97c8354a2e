import type { DoctorAnswer } from '../../../../src/api/doctor.js'
import { useAnswer } from '../../api/use.js'
import { Card, Loaded } from '../../parts/page.js'

const looks = { error: 'dead', warning: 'failed', note: 'pending' } as const

/** Whether the database is well: what a check-up found, and what to do about it. It opens connections, so it is asked for rarely. */
export function CheckUp() {
  const found = useAnswer<DoctorAnswer>('doctor', {}, { everyMs: 120_000 })
  return (
    <Card title="Health of the database" aside={<code>npx holdfast doctor</code>}>
      <Loaded query={found}>
        {({ findings, checked }) => (
          <>
            <ul className="findings">
              {findings.map(({ code, severity, message, remedy }) => (
                <li key={`${code} ${message}`}>
                  <span className="status" data-status={looks[severity]}>
                    {severity}: {code}
                  </span>
                  <span>
                    {message} <span className="soft">{remedy}</span>
                  </span>
                </li>
              ))}
              {findings.length === 0 && (
                <li>
                  <span className="status" data-status="completed">
                    all well
                  </span>
                  <span className="soft">looked at {checked.join(', ')}</span>
                </li>
              )}
            </ul>
          </>
        )}
      </Loaded>
    </Card>
  )
}
