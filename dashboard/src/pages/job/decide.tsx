import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'

/** Approve or reject a job that waits for it. */
export function Decide({ job }: { job: { readonly id: string; readonly type: string } }) {
  return (
    <>
      <Act
        name="Approve"
        title={`Approve this ${job.type} job?`}
        says="It runs as soon as enough people have approved it. Whoever asked for a job cannot approve it."
        needs="jobs:cancel"
        look="first"
        posts={`jobs/${pathOf(job.id)}/approve`}
        done={(answer) => approvedWords(answer as { approvals: number; quorum: number })}
      />
      <Act
        name="Reject"
        title={`Reject this ${job.type} job?`}
        says="It is cancelled, and whoever asked for it sees your reason."
        needs="jobs:cancel"
        look="grave"
        why="needed"
        posts={`jobs/${pathOf(job.id)}/reject`}
        done="Rejected"
      />
    </>
  )
}

const approvedWords = ({ approvals, quorum }: { approvals: number; quorum: number }) =>
  approvals >= quorum ? 'Approved' : `Approved by ${approvals} of ${quorum}: ${quorum - approvals} more to go`
