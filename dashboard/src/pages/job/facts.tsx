import type { JobAnswer } from '../../../../src/api/jobs.js'
import { Copy } from '../../parts/copy.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Link } from '../../parts/link.js'
import { Status } from '../../parts/status.js'
import { inWords, Moment } from '../../parts/time.js'
import { useSession } from '../../session/session.js'
import { RunTime } from './run-time.js'

/** What a job is, in a glance. */
export function JobFacts({ job }: { job: JobAnswer }) {
  return (
    <Facts>
      <Fact name="Status">
        <Status status={job.status} />
      </Fact>
      <Fact name="Attempt">
        {job.attempt} of {job.max_attempts}
      </Fact>
      <Fact name="Type">
        <Link to={`/types/${encodeURIComponent(job.type)}`}>{job.type}</Link>
      </Fact>
      <Fact name="Lane">{job.lane}</Fact>
      <Fact name="Priority">{job.priority}</Fact>
      <Fact name="Enqueued">
        <Moment at={job.created_at} /> {job.owner && `by ${job.owner}`}
      </Fact>
      {job.due_at && (
        <Fact name="Due">
          <Moment at={job.due_at} />
        </Fact>
      )}
      {job.finished_at && (
        <Fact name="Ended">
          <Moment at={job.finished_at} />
        </Fact>
      )}
      <RunTime job={job} />
      {job.start_by && (
        <Fact name="Has to start">
          <Moment at={job.start_by} />
        </Fact>
      )}
      {job.batch_id && (
        <Fact name="Batch">
          <Link to={`/batches/${job.batch_id}`}>…{job.batch_id.slice(-8)}</Link>
        </Fact>
      )}
      {job.execution_id && (
        <Fact name="Workflow">
          <Link to={`/workflows/${job.execution_id}`}>
            {job.task}
            {job.item !== null && `, item ${job.item}`}
          </Link>
        </Fact>
      )}
      {job.schedule && (
        <Fact name="Schedule">
          <Link to={`/schedules/${encodeURIComponent(job.schedule)}`}>{job.schedule}</Link>
        </Fact>
      )}
      {job.version > 1 && <Fact name="Payload version">{job.version}</Fact>}
      <Fact name="Timeout">{inWords(job.timeout_ms)}</Fact>
      {job.traceparent && <Trace traceparent={job.traceparent} />}
      {job.concurrency_key && <Fact name="Concurrency key">{job.concurrency_key}</Fact>}
      {job.idempotency_key && <Fact name="Idempotency key">{job.idempotency_key}</Fact>}
      {job.tags.length > 0 && (
        <Fact name="Tags">
          {job.tags.map((tag) => (
            <Link to="/jobs" query={{ tags: tag }} className="badge" key={tag}>
              {tag}
            </Link>
          ))}
        </Fact>
      )}
      {job.progress && job.status !== 'completed' && (
        <Fact name="Progress">
          <progress value={job.progress.fraction} aria-label="Progress" />
          {`${Math.round(job.progress.fraction * 100)}\u00a0% ${job.progress.note ?? ''}`}
        </Fact>
      )}
      {job.approval && (
        <Fact name="Approvals">
          {job.approval.verdicts.filter(({ verdict }) => verdict.startsWith('approve')).length} of {job.approval.quorum}
          {job.approval.deadline && (
            <>
              , {job.approval.on_deadline === 'approve' ? 'approved' : 'cancelled'} <Moment at={job.approval.deadline} /> if
              nobody decides
            </>
          )}
        </Fact>
      )}
    </Facts>
  )
}

/** The trace that asked for the job: a link to whatever keeps traces, where the server names it, and the id to paste. */
function Trace({ traceparent }: { traceparent: string }) {
  const [, trace = traceparent] = traceparent.split('-')
  const { trace_url } = useSession()
  const id = <span className="mono">{trace}</span>
  return (
    <Fact name="Trace">
      {trace_url === null ? (
        id
      ) : (
        <a href={trace_url.replaceAll('{trace}', encodeURIComponent(trace))} target="_blank" rel="noreferrer">
          {id}
        </a>
      )}{' '}
      <Copy text={trace} label="Copy the id of the trace" />
    </Fact>
  )
}
