import { type Dependency, useDependencies } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Command } from '../../parts/command.js'
import { Field, given, numberOrNull } from '../../parts/fields.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { RateFields, rateOf } from '../../parts/rate-fields.js'
import { Table } from '../../parts/table.js'
import { rateInWords } from '../types/limits-in-words.js'
import { DependencyState } from './dependency-state.js'
import { PauseDependency } from './pause.js'

const typesAtMost = 4

/** What several job types share: a provider, a database, a machine; whether it is paused or broken, and what it bears. */
export function Dependencies() {
  const found = useDependencies()
  return (
    <Page title="Dependencies" aside={<NewDependency />}>
      <Card>
        <Loaded query={found}>
          {({ dependencies }) => (
            <Table
              label="Dependencies"
              rows={dependencies}
              keyOf={({ name }) => name}
              empty={
                <>
                  No job type names what it uses. Types that share a provider, named in <code>uses</code> of their definition,
                  share its limits, its pause and its breaker:
                  <Command text="npx holdfast dependencies limit stripe --max-running 5 --create" />
                </>
              }
              columns={[
                {
                  name: 'Dependency',
                  cell: ({ name }) => <Link to={`/dependencies/${encodeURIComponent(name)}`}>{name}</Link>,
                },
                { name: 'State', cell: (dependency) => <DependencyState dependency={dependency} /> },
                { name: 'Used by', cell: (dependency) => <Users dependency={dependency} /> },
                { name: 'Run now', number: true, cell: ({ held }) => held },
                { name: 'At once', number: true, cell: ({ max_running }) => max_running ?? '–' },
                { name: 'Rate', cell: ({ rate }) => (rate === null ? '–' : rateInWords(rate)) },
              ]}
              acts={(dependency) => <PauseDependency dependency={dependency} />}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  )
}

function Users({ dependency: { types } }: { dependency: Dependency }) {
  return (
    <span className="words">
      {types.slice(0, typesAtMost).map((type) => (
        <Link key={type} to={`/types/${encodeURIComponent(type)}`}>
          {type}
        </Link>
      ))}
      {types.length > typesAtMost && <span className="soft">and {types.length - typesAtMost} more</span>}
      {types.length === 0 && <span className="soft">no type</span>}
    </span>
  )
}

/** One that no worker has named yet. */
function NewDependency() {
  return (
    <Act
      name="New dependency"
      title="A new dependency"
      says="Types that name it in “uses” share what is set here, from their first job on."
      needs="workers:manage"
      send={({ name = '', max_running, why, ...values }) =>
        ask(`admin/dependencies/${pathOf(name)}`, {
          method: 'PATCH',
          body: { create: true, max_running: numberOrNull(max_running), rate: rateOf(values, 'rate'), why: given(why) },
        })
      }
      done="The dependency is there"
    >
      <Field name="name" label="Name" maxLength={200} required />
      <div className="pair">
        <Field name="max_running" label="At once" hint="of all types together; empty: no limit" type="number" min={1} />
        <RateFields name="rate" label="Rate" rate={null} />
      </div>
    </Act>
  )
}
