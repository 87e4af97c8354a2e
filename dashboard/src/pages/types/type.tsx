import { useGates } from '../../api/answers.js'
import { pathOf } from '../../api/use.js'
import { Charts } from '../../charts/charts.js'
import { BreakerActs } from '../../parts/breaker-acts.js'
import { BreakerFacts } from '../../parts/breaker-facts.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Link } from '../../parts/link.js'
import { Until, WhatOperatorsSaid } from '../../parts/overrides.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { ErrorsOfType } from '../errors/errors-of-type.js'
import { ChangeLimits } from './change-limits.js'
import { EndToEnd } from './end-to-end.js'
import { KeysOfType } from './keys-of-type.js'
import { rateInWords } from './limits-in-words.js'
import { PauseOrResume } from './pause.js'
import { MoveType, TypeSettings } from './settings.js'
import { TypeState } from './type-state.js'

/** One job type: what limits it, its breaker, and its concurrency keys. */
export function OneType({ type }: { type: string }) {
  const gates = useGates()
  return (
    <Page title={type} aside={<JobsOfType type={type} />}>
      <Loaded query={gates}>
        {({ types }) => {
          const found = types.find((one) => one.type === type)
          if (!found) return <p className="empty">No job type is called {type}. A worker registers its types when it starts.</p>
          const { gate, lane, sensitive } = found
          return (
            <div className="stack">
              <div className="row">
                <PauseOrResume type={type} paused={gate?.paused != null} />
                <ChangeLimits type={type} gate={gate} />
                <MoveType type={type} lane={lane} />
                <BreakerActs of={type} breaker={gate?.breaker} path={`admin/job-types/${pathOf(type)}/breaker`} />
              </div>
              <Card>
                <Facts>
                  <Fact name="State">
                    <TypeState gate={gate} />
                    <Until until={gate?.paused?.until} />
                  </Fact>
                  <Fact name="Lane">{lane}</Fact>
                  <Fact name="Runs now">{gate?.held ?? 0}</Fact>
                  <Fact name="At once">{gate?.max_running ?? 'no limit'}</Fact>
                  <Fact name="At once per key">{gate?.max_running_per_key ?? 'no limit'}</Fact>
                  <Fact name="Rate">{rateInWords(gate?.rate ?? null)}</Fact>
                  <Fact name="Rate per key">{rateInWords(gate?.rate_per_key ?? null)}</Fact>
                  <Fact name="Keys">{gate?.fair ? 'take turns' : 'first come, first served'}</Fact>
                  <Fact name="Order">
                    {gate?.ordered ? `in order per key${gate.halt_on_dead ? ', halts on a dead job' : ''}` : 'none'}
                  </Fact>
                  {gate && gate.uses.length > 0 && (
                    <Fact name="Uses">
                      {gate.uses.map((name) => (
                        <Link key={name} to={`/dependencies/${encodeURIComponent(name)}`} className="badge">
                          {name}
                        </Link>
                      ))}
                    </Fact>
                  )}
                  <EndToEnd type={type} />
                  <Fact name="Sensitive">{sensitive ? 'yes: a replay has to be confirmed' : 'no'}</Fact>
                </Facts>
              </Card>
              {gate && (
                <Card title="Breaker">
                  <BreakerFacts breaker={gate.breaker} />
                </Card>
              )}
              <WhatOperatorsSaid overrides={gate?.overrides ?? []} releases={`admin/job-types/${pathOf(type)}/limits/release`} />
              <Charts type={type} />
              <ErrorsOfType type={type} />
              <TypeSettings type={type} />
              <KeysOfType type={type} />
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

function JobsOfType({ type }: { type: string }) {
  return (
    <span className="links">
      <Link to="/jobs" query={{ type }}>
        its jobs
      </Link>
      <Link to="/dead" query={{ type }}>
        its dead letters
      </Link>
      <Link to="/new" query={{ type }}>
        new job
      </Link>
    </span>
  )
}
