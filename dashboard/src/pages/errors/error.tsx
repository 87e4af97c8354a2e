import type { ErrorAnswer, ErrorGroupAnswer } from '../../../../src/api/errors.js'
import type { JobSummaryAnswer } from '../../../../src/api/jobs.js'
import { pathOf, useAnswer, usePages } from '../../api/use.js'
import { Count } from '../../parts/count.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { Moment } from '../../parts/time.js'
import { useRoute } from '../../routing.js'
import { JobTable } from '../jobs/job-table.js'
import { GroupActs } from './group-table.js'
import { SampleStack } from './sample-stack.js'
import { Spark } from './spark.js'

/** One error group: an example, how often it happened in which types, and its jobs. */
export function OneError({ fingerprint }: { fingerprint: string }) {
  const { query } = useRoute()
  const type = query.get('type') ?? ''
  const found = useAnswer<ErrorAnswer>(`errors/${pathOf(fingerprint)}`, {}, { everyMs: 5_000 })
  return (
    <Page title="Error group" aside={<span className="mono id">{fingerprint}</span>}>
      <Loaded query={found}>
        {({ groups }) => {
          const shown = type === '' ? groups : groups.filter((group) => group.type === type)
          const others = groups.filter((group) => !shown.includes(group))
          return (
            <div className="stack">
              {shown.map((group) => (
                <OneGroup key={group.type} group={group} />
              ))}
              {shown.length === 0 && <p className="empty">No job of {type} failed like that as long as dead letters are kept.</p>}
              {others.length > 0 && (
                <p>
                  The same error in{' '}
                  {others.map((other) => (
                    <span key={other.type}>
                      <Link to={`/errors/${fingerprint}`} query={{ type: other.type }}>
                        {other.type}
                      </Link>{' '}
                      <span className="soft">({other.count})</span>{' '}
                    </span>
                  ))}
                </p>
              )}
              <JobsOfGroup fingerprint={fingerprint} type={type} />
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

const over = 30

function OneGroup({ group }: { group: ErrorGroupAnswer }) {
  return (
    <Card title={`${group.name ?? 'An error'} in ${group.type}`} aside={<GroupActs group={group} />}>
      <pre className="example">{group.message ?? 'No example is kept: its job was forgotten.'}</pre>
      {group.job !== null && <SampleStack job={group.job} fingerprint={group.fingerprint} />}
      <Facts>
        <Fact name="Failures">
          <Count count={group.count} />
        </Fact>
        <Fact name="First seen">
          <Moment at={group.first_at} />
        </Fact>
        <Fact name="Last seen">
          <Moment at={group.last_at} />
        </Fact>
        <Fact name="Type">
          <Link to={`/types/${pathOf(group.type)}`}>{group.type}</Link>
        </Fact>
        {group.job !== null && (
          <Fact name="Example">
            <Link to={`/jobs/${group.job}`}>
              job <span className="mono">…{group.job.slice(-8)}</span>
            </Link>
          </Fact>
        )}
        <Fact name={`Failures a day, ${over} days`}>
          <Spark days={group.days} over={over} />
        </Fact>
      </Facts>
    </Card>
  )
}

/** The jobs whose last failure is in the group, whatever became of them. */
function JobsOfGroup({ fingerprint, type }: { fingerprint: string; type: string }) {
  const asked = { error_group: fingerprint, type }
  const { list, rows, settled } = usePages<JobSummaryAnswer, 'jobs'>('jobs', 'jobs', { ...asked, limit: 50 })
  return (
    <Card
      title="Jobs"
      aside={
        <Link to="/jobs" query={asked}>
          filter and select
        </Link>
      }
    >
      {(rows.length > 0 || settled) && (
        <JobTable label="Jobs" jobs={rows} empty="None of its jobs is kept any more, or each failed in another way since." />
      )}
      <More list={list} settled={settled} />
    </Card>
  )
}
