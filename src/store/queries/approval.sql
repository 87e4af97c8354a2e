-- name: decideApproval
-- One person's verdict on a job that waits for approval. Always one row; without a status there is no such job.
select job_id::text as id, done, was, status, because, approvals, quorum
from holdfast.decide_approval($1::text::uuid, $2::text, holdfast.actor($3::text, $4::text, $5::text), $6::text::integer)

-- name: approvalOfJob
-- What a job's approval asks for, and each verdict on it. No row: it needs none.
select r.quorum, r.revision, date_part('epoch', r.deadline) * 1000 as deadline, r.on_deadline, a.actor, a.verdict, a.comment,
       date_part('epoch', a.at) * 1000 as at
from holdfast.approval_requests as r left join holdfast.approvals as a on a.job_id = r.job_id
where r.job_id = $1::text::uuid order by a.at
