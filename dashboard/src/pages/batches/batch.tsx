import type { BatchAnswer, retriedBatchAnswer } from '../../../../src/api/batches.js'
import { ask } from '../../api/ask.js'
import { type Answered, pathOf, useAnswer } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Count } from '../../parts/count.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { Shares } from '../../parts/shares.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { BatchStatus, sharesOf } from './batch-status.js'

/** One batch: how far it is, what it waits for, and its callbacks. */
export function OneBatch({ id }: { id: string }) {
  const batch = useAnswer<BatchAnswer>(`batches/${pathOf(id)}`)
  return (
    <Page
      title={batch.data?.name ?? 'Batch'}
      aside={
        <span className="links">
          <Link to="/jobs" query={{ batch: id }}>
            its members
          </Link>
          <span className="mono id">{id}</span>
        </span>
      }
    >
      <Loaded query={batch}>
        {(data) => (
          <div className="stack">
            <BatchActs batch={data} />
            <Card>
              <div className="inset">
                <Shares label="Members by status" shares={sharesOf(data)} />
              </div>
              <Facts>
                <Fact name="Status">
                  <BatchStatus batch={data} />
                </Fact>
                <Fact name="Members">
                  <Count count={data.total} />
                </Fact>
                {data.waits_for && <Fact name="Waits for">{data.waits_for}</Fact>}
                <Fact name="Made">
                  <Moment at={data.created_at} /> {data.owner && `by ${data.owner}`}
                </Fact>
                {data.finished_at && (
                  <Fact name="Ended">
                    <Moment at={data.finished_at} />
                  </Fact>
                )}
                {data.cancelled_by && (
                  <Fact name="Cancelled by">
                    {data.cancelled_by}
                    {data.cancelled_why && `: ${data.cancelled_why}`}
                  </Fact>
                )}
              </Facts>
            </Card>
            <Card title="Callbacks">
              <Table
                label="Callbacks"
                rows={data.callbacks}
                keyOf={({ round, kind }) => `${round} ${kind}`}
                empty="No callback has been enqueued: the batch has not ended, or has none for how it ended."
                columns={[
                  { name: 'Callback', cell: ({ kind, job }) => <Link to={`/jobs/${job}`}>{kind}</Link> },
                  { name: 'Round', number: true, cell: ({ round }) => round },
                ]}
              />
            </Card>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function BatchActs({ batch: { id, open, status, dead } }: { batch: BatchAnswer }) {
  const path = `batches/${pathOf(id)}`
  return (
    <div className="row">
      {open && status === 'running' && (
        <Act
          name="Close"
          title="Close this batch?"
          says="No more jobs can be added from outside, and it ends when its members have."
          needs="jobs:enqueue"
          why="none"
          send={() => ask(`${path}/close`, { method: 'POST' })}
          done="The batch is closed"
        />
      )}
      {status === 'running' && (
        <Act
          name="Cancel"
          title="Cancel what is left of this batch?"
          says="Members that have not ended are cancelled, those that run too."
          needs="jobs:cancel"
          look="grave"
          typed="cancel"
          posts={`${path}/cancel`}
          done="What was left is cancelled"
        />
      )}
      {status !== 'running' && dead > 0 && (
        <Act
          name="Replay its dead members"
          title={`Replay ${dead} dead members?`}
          says="The batch runs again, in its next round, and its callbacks are enqueued once more when it ends."
          needs="dlq:manage"
          look="first"
          posts={`${path}/retry`}
          done={(answer) => retriedWords(answer as Answered<typeof retriedBatchAnswer>)}
        />
      )}
    </div>
  )
}

const retriedWords = ({ done, matched }: Answered<typeof retriedBatchAnswer>) => `${done} of ${matched} replayed`
