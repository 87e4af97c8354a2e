import type { DependencyBody } from '../../../../src/api/admin.js'
import { type Dependency, useDependencies } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { BreakerActs } from '../../parts/breaker-acts.js'
import { BreakerFacts } from '../../parts/breaker-facts.js'
import { changedFields } from '../../parts/changed.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Field, numberOrNull } from '../../parts/fields.js'
import { Link } from '../../parts/link.js'
import { ForField, Until, WhatOperatorsSaid } from '../../parts/overrides.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { RateFields, rateAsTaken, rateOf } from '../../parts/rate-fields.js'
import { rateInWords } from '../types/limits-in-words.js'
import { DependencyState } from './dependency-state.js'
import { PauseDependency } from './pause.js'

/** One dependency: who uses it, what it bears, and its breaker. */
export function OneDependency({ name }: { name: string }) {
  const found = useDependencies()
  return (
    <Page title={name} aside={<Link to="/dependencies">all dependencies</Link>}>
      <Loaded query={found}>
        {({ dependencies }) => {
          const dependency = dependencies.find((one) => one.name === name)
          if (!dependency) return <p className="empty">No dependency is called {name}.</p>
          return <Known dependency={dependency} />
        }}
      </Loaded>
    </Page>
  )
}

function Known({ dependency }: { dependency: Dependency }) {
  const { name, types, max_running, rate, held, paused, breaker, overrides } = dependency
  const path = `admin/dependencies/${pathOf(name)}`
  return (
    <div className="stack">
      <div className="row">
        <PauseDependency dependency={dependency} />
        <ChangeLimits dependency={dependency} />
        <BreakerActs of={name} breaker={breaker} path={`${path}/breaker`} />
      </div>
      <Card>
        <Facts>
          <Fact name="State">
            <DependencyState dependency={dependency} /> {paused && `by ${paused.by}${paused.why ? `: ${paused.why}` : ''}`}
            <Until until={paused?.until} />
          </Fact>
          <Fact name="Run now">{held}</Fact>
          <Fact name="At once">{max_running ?? 'no limit'}</Fact>
          <Fact name="Rate">{rateInWords(rate)}</Fact>
        </Facts>
        <p className="foot">
          {types.length === 0 && 'No type uses it.'}
          {types.map((type) => (
            <Link key={type} to={`/types/${encodeURIComponent(type)}`}>
              {type}
            </Link>
          ))}
        </p>
      </Card>
      <Card title="Breaker">
        <BreakerFacts breaker={breaker} />
      </Card>
      <WhatOperatorsSaid overrides={overrides} releases={`${path}/release`} />
    </div>
  )
}

function ChangeLimits({ dependency: { name, max_running, rate } }: { dependency: Dependency }) {
  const bodyOf = (values: Values) =>
    changedFields(
      { max_running, rate: rateAsTaken(rate) },
      { max_running: numberOrNull(values.max_running), rate: rateOf(values, 'rate') },
      values,
    ) as DependencyBody
  return (
    <Act
      name="Change limits"
      title={`Limits of ${name}`}
      says="They hold for all types that use it together. A field that is empty sets no limit."
      needs="workers:manage"
      send={(values) => ask(`admin/dependencies/${pathOf(name)}`, { method: 'PATCH', body: bodyOf(values) })}
      done={`The limits of ${name} are changed`}
    >
      <div className="pair">
        <Field name="max_running" label="At once" type="number" min={1} defaultValue={max_running ?? ''} />
        <RateFields name="rate" label="Rate" rate={rate} />
      </div>
      <ForField />
    </Act>
  )
}
