import type { JobAnswer } from '../../../../src/api/jobs.js'
import { ask } from '../../api/ask.js'
import { pathOf } from '../../api/use.js'
import { Act, type Values } from '../../parts/act.js'
import { given } from '../../parts/fields.js'

/** Approve or reject a job that waits for it, with the payload that this page shows: one that was replaced meanwhile is refused. */
export function Decide({ job }: { job: Pick<JobAnswer, 'id' | 'type'> & Partial<Pick<JobAnswer, 'approval'>> }) {
  const decide = (verdict: 'approve' | 'reject') => (values: Values) =>
    ask(`jobs/${pathOf(job.id)}/${verdict}`, {
      method: 'POST',
      body: { why: given(values.why), revision: job.approval?.revision },
    })
  return (
    <>
      <Act
        name="Approve"
        title={`Approve this ${job.type} job?`}
        says="It runs as soon as enough people have approved it. Whoever asked for a job cannot approve it."
        needs="jobs:cancel"
        look="first"
        send={decide('approve')}
        done={(answer) => approvedWords(answer as { approvals: number; quorum: number })}
      />
      <Act
        name="Reject"
        title={`Reject this ${job.type} job?`}
        says="It is cancelled, and whoever asked for it sees your reason."
        needs="jobs:cancel"
        look="grave"
        why="needed"
        send={decide('reject')}
        done="Rejected"
      />
    </>
  )
}

const approvedWords = ({ approvals, quorum }: { approvals: number; quorum: number }) =>
  approvals >= quorum ? 'Approved' : `Approved by ${approvals} of ${quorum}: ${quorum - approvals} more to go`
