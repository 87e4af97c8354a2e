import type { explainAnswer } from '../../../../src/api/jobs.js'
import { type Answered, pathOf, useAnswer } from '../../api/use.js'
import { Card, Loaded } from '../../parts/page.js'
import { inWords } from '../../parts/time.js'

/** Why it is not running, gate by gate, with what opens each. */
export function WhyItWaits({ id }: { id: string }) {
  const explained = useAnswer<Answered<typeof explainAnswer>>(`jobs/${pathOf(id)}/explain`)
  return (
    <Card title="Why is it waiting?">
      <Loaded query={explained}>
        {({ gates }) => (
          <ul className="story">
            {gates.map(({ gate, why, opens, opens_in_ms }) => (
              <li key={`${gate} ${why}`}>
                <span>
                  <span className="badge" data-status="failed">
                    {gate.replaceAll('_', ' ')}
                  </span>
                </span>
                <div>
                  {why}
                  <br />
                  <span className="when">
                    What helps: {opens}
                    {opens_in_ms !== null && `, in ${inWords(opens_in_ms)}`}
                  </span>
                </div>
              </li>
            ))}
            {gates.length === 0 && <li className="one">Nothing is in its way: a free worker takes it next.</li>}
          </ul>
        )}
      </Loaded>
    </Card>
  )
}
