-- name: bulkCandidates
-- The next jobs that a bulk action would mean, for an estimate.
select to_jsonb(ids) as ids, next::text as next
from holdfast.bulk_candidates($1::text, $2::text::jsonb, $3::text, holdfast.now(), $4::text::uuid, $5::text::integer)

-- name: createBulk
-- Stores a bulk action and the job that carries it out.
select holdfast.create_bulk($1::text, $2::text::jsonb, $3::uuid[], $4::text::jsonb, $5::text, $6::text::real, $7::text::integer, $8::text::boolean,
                            holdfast.actor($9::text, $10::text, $11::text))::text as id

-- name: bulkPortion
-- Does a bulk action to its next portion of jobs.
select more, taken, matched, estimate from holdfast.bulk_portion($1::text::uuid, $2::text::integer)

-- name: abortBulk
-- Ends a bulk action. Not aborted: it had ended, or there is none.
select holdfast.abort_bulk($1::text::uuid, holdfast.actor($2::text, $3::text, $4::text)) as aborted

-- name: bulkActions
-- Bulk actions before the one of that id, newest first; $1: only that one; $4: only those that are about jobs of this service alone. One whose job
-- has died or was cancelled has failed, until that job is replayed or resumed.
select a.id::text as id, a.action, a.filter - 'readable' as filter, case when a.filter is null then a.estimate end as jobs, a.settings, a.owner, a.actor, a.why, a.pace,
       case when a.status in ('waiting', 'running') and coalesce(holdfast.status_of(a.id), 'dead') in ('dead', 'cancelled', 'discarded', 'completed')
            then 'failed' else a.status end as status,
       a.estimate, a.at_least, a.matched, a.done, a.refused, date_part('epoch', a.created_at) * 1000 as created_at,
       date_part('epoch', a.started_at) * 1000 as started_at, date_part('epoch', a.ended_at) * 1000 as ended_at, a.aborted_by, a.aborted_why
from holdfast.bulk_actions as a
where ($1::text is null or a.id = $1::text::uuid) and ($2::text is null or a.id < $2::text::uuid) and ($4::text is null or a.owner = $4::text)
order by a.id desc limit $3::text::integer
