import { useAlerts } from '../../api/answers.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { useMay } from '../../session/session.js'
import { kindWords, valueInWords } from './kinds.js'
import { Rules } from './rules.js'
import { Targets } from './targets.js'

/** What fires now, by which rules, and who is notified. */
export function Alerts() {
  const alerts = useAlerts()
  const seesTargets = useMay('admin')
  return (
    <Page title="Alerts">
      <Loaded query={alerts}>
        {({ firing, rules, callers }) => (
          <div className="stack">
            {callers === 0 && (
              <p className="notice" data-status="failed">
                Nobody would be called: no worker sends webhooks. <code>npx holdfast work --alerts</code> starts one that does;
                what fires stands here all the same.
              </p>
            )}
            <Card title="Firing">
              <Table
                label="Firing"
                rows={firing}
                keyOf={({ rule, subject }) => `${rule} ${subject}`}
                empty="Nothing fires."
                columns={[
                  {
                    name: 'Alert',
                    cell: ({ rule, kind }) => (
                      <>
                        <span className="status" data-status="dead">
                          {rule}
                        </span>
                        <span className="second">{kindWords[kind]}</span>
                      </>
                    ),
                  },
                  { name: 'About', cell: ({ subject, kind }) => <Subject subject={subject} kind={kind} /> },
                  { name: 'Value', number: true, cell: ({ kind, value }) => valueInWords(kind, value) },
                  { name: 'Limit', number: true, cell: ({ kind, threshold }) => valueInWords(kind, threshold) },
                  { name: 'Since', number: true, cell: ({ since }) => <Moment at={since} /> },
                ]}
              />
            </Card>
            <Rules rules={rules} />
            {seesTargets && <Targets rules={rules.map(({ name }) => name)} />}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function Subject({ subject, kind }: { subject: string; kind: string }) {
  if (kind === 'dead_letters')
    return (
      <Link to="/dead" query={{ type: subject }}>
        {subject}
      </Link>
    )
  if (kind === 'breaker') return <Link to={`/types/${encodeURIComponent(subject)}`}>{subject}</Link>
  return subject
}
