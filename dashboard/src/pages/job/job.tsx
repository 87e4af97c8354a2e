import type { JobAnswer } from '../../../../src/api/jobs.js'
import { pathOf, useAnswer } from '../../api/use.js'
import { Copy } from '../../parts/copy.js'
import { Json } from '../../parts/json.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { JobActs } from './acts.js'
import { AttemptBars } from './attempt-bars.js'
import { CopyAs } from './copy-as.js'
import { JobFacts } from './facts.js'
import { JobLog } from './log.js'
import { SimilarFailures } from './similar-failures.js'
import { Story } from './story.js'
import { WhereItStands } from './where-it-stands.js'
import { WhyItWaits } from './why-it-waits.js'

const waits = new Set(['pending', 'scheduled', 'blocked', 'failed', 'awaiting_approval'])

/** One job: what it is, why it waits, everything that happened to it, and what can be done. */
export function Job({ id }: { id: string }) {
  const job = useAnswer<JobAnswer>(`jobs/${pathOf(id)}`)
  return (
    <Page
      title={job.data?.type ?? 'Job'}
      aside={
        <span className="mono id">
          {id} <Copy text={id} label="Copy the id" />
        </span>
      }
    >
      <Loaded query={job}>
        {(data) => (
          <div className="stack">
            <JobActs job={data} />
            <Card>
              <JobFacts job={data} />
              <WhereItStands job={data} />
            </Card>
            {waits.has(data.status) && <WhyItWaits id={id} />}
            <div className="columns">
              <div className="stack">
                <AttemptBars job={data} />
                <Card title="What happened">
                  <Story job={data} />
                </Card>
                <JobLog id={id} status={data.status} />
              </div>
              <div className="stack">
                <SimilarFailures job={data} />
                <Card title="Payload" aside={<CopyAs job={data} />}>
                  <Json value={data.payload} label="payload" />
                </Card>
                {data.result !== undefined && (
                  <Card title="Result">
                    <Json value={data.result} label="result" />
                  </Card>
                )}
              </div>
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  )
}
