-- name: settleJobs
-- Ends attempts. Touches nothing unless that very attempt still holds its lease; history is written in the same statement.
-- Answers with the attempts that held no lease any more, why, and what stands instead.
select lost.job_id::text as id, stands.why, stands.outcome, stands.attempt, date_part('epoch', stands.ended_at) * 1000 as ended
from holdfast.settle_jobs($1::uuid[], $2::bigint[], $3::text[], $4::holdfast.outcome[], $5::text[], $6::float8[], $7::float8[],
                          $8::float8[], $9::text::integer, $10::bigint[], $11::text[], $12::text[]) as lost
cross join lateral holdfast.how_it_stands(lost.job_id, lost.lease_id, $9::text::integer, lost.outcome) as stands

-- name: completeAttempt
-- Completes one attempt in the transaction it runs in, which may be that of any client. False: its lease is lost.
select holdfast.complete_attempt($1::text::uuid, $2::text::bigint, $3::text::integer, $4::text::float8, $5::text) as held

-- name: completionStands
-- Whether an attempt that was completed in a transaction has ended so: written, open or lost. Waits for that transaction.
select holdfast.completion_stands($1::text::uuid, $2::text::bigint, $3::text::integer) as stands
