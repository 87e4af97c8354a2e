import type { JobAnswer } from '../../../../src/api/jobs.js'
import { useGates } from '../../api/answers.js'
import { ask } from '../../api/ask.js'
import { parseExactly } from '../../api/json.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Field, given, JsonField } from '../../parts/fields.js'
import { Link } from '../../parts/link.js'
import { useMay } from '../../session/session.js'
import { replayedWords, WillWait } from '../dead/replay-waits.js'
import { Decide } from './decide.js'
import { EditAndReplay } from './edit-and-replay.js'
import { Bury, Priority, Reschedule, RunNow } from './waiting-acts.js'

const live = new Set(['awaiting_approval', 'scheduled', 'blocked', 'pending', 'processing', 'failed'])
/** They wait for a time, and for nothing else. */
const hurried = new Set(['scheduled', 'failed'])
const startable = new Set(['awaiting_approval', 'scheduled', 'blocked', 'pending', 'failed'])

/** What can be done to this job now, by this person. */
export function JobActs({ job }: { job: JobAnswer }) {
  const sensitive = useSensitive(job.type)
  const again = useMay('jobs:enqueue')
  const about = { job, confirm: sensitive ? job.type : undefined }
  return (
    <div className="row">
      {job.status === 'awaiting_approval' && <Decide job={job} />}
      {job.status === 'dead' && <Replay {...about} />}
      {job.status === 'dead' && <EditAndReplay {...about} />}
      {job.status === 'dead' && <Discard job={job} />}
      {job.status === 'cancelled' && <Resume {...about} />}
      {live.has(job.status) && <Cancel job={job} />}
      {hurried.has(job.status) && <RunNow job={job} />}
      {startable.has(job.status) && <Reschedule job={job} />}
      {startable.has(job.status) && <Priority job={job} />}
      {startable.has(job.status) && <Bury job={job} />}
      {live.has(job.status) && <Signal job={job} />}
      {again && (
        <Link to="/new" query={{ like: job.id }} className="button">
          New job like this
        </Link>
      )}
      {!live.has(job.status) && job.status !== 'dead' && <Forget job={job} />}
    </div>
  )
}

export interface AboutJob {
  readonly job: JobAnswer
  /** The type, where it is sensitive and has to be confirmed. */
  readonly confirm: string | undefined
}

function useSensitive(type: string): boolean {
  const gates = useGates({ enabled: useMay('workers:view') })
  return gates.data?.types.find((one) => one.type === type)?.sensitive ?? false
}

function Cancel({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Cancel"
      title={`Cancel this ${job.type} job?`}
      says={
        job.status === 'processing'
          ? 'It runs now: its worker is told to stop. It can be resumed later.'
          : 'It will not run. It can be resumed later.'
      }
      needs="jobs:cancel"
      shortcut="c"
      send={({ why }) => ask(`jobs/${pathOf(job.id)}`, { method: 'DELETE', query: { why: given(why) } })}
      done="Cancelled"
    />
  )
}

function Resume({ job, confirm }: AboutJob) {
  return (
    <Act
      name="Resume"
      title={`Resume this ${job.type} job?`}
      says="It goes on where it was cancelled, with the attempts it has left."
      needs="jobs:cancel"
      look="first"
      shortcut="r"
      confirm={confirm}
      posts={`jobs/${pathOf(job.id)}/resume`}
      done="Resumed"
    />
  )
}

function Replay({ job, confirm }: AboutJob) {
  return (
    <Act
      name="Replay"
      title={`Replay this ${job.type} job?`}
      says="It gets all its attempts again, with the same payload. What happened so far stays in its story."
      needs="dlq:manage"
      look="first"
      shortcut="r"
      confirm={confirm}
      posts={`admin/dlq/${pathOf(job.id)}/replay`}
      done={replayedWords('Replayed')}
    >
      <WillWait type={job.type} />
    </Act>
  )
}

function Discard({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Discard"
      title={`Discard this ${job.type} job?`}
      says="It will never run. It stays visible as discarded, with your reason; a new job like it can be made from this page."
      needs="dlq:manage"
      look="grave"
      typed="discard"
      why="needed"
      posts={`admin/dlq/${pathOf(job.id)}/discard`}
      done="Discarded"
    />
  )
}

function Signal({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Send a signal"
      title="Send a signal to this job"
      says="A handler that waits for a signal of this name goes on with its payload."
      needs="jobs:enqueue"
      why="none"
      send={({ signal, payload }) =>
        ask(`jobs/${pathOf(job.id)}/signals`, {
          method: 'POST',
          body: { name: signal, payload: parseExactly(payload ?? 'null') },
        })
      }
      done="Signal stored"
    >
      <Field name="signal" label="Name" required />
      <JsonField name="payload" label="Payload" first="{}" rows={4} />
    </Act>
  )
}

function Forget({ job }: { job: JobAnswer }) {
  return (
    <Act
      name="Forget"
      title={`Delete everything that is kept of this ${job.type} job?`}
      says="Its payload, result, log and story are deleted. Only the audit log says that it existed."
      needs="jobs:cancel"
      look="grave"
      typed={job.id.slice(-8)}
      send={async ({ why }) => {
        await ask(`jobs/${pathOf(job.id)}`, { method: 'DELETE', query: { forget: true, why: given(why) } })
        window.location.hash = '#/jobs'
      }}
      done="Forgotten"
    />
  )
}
