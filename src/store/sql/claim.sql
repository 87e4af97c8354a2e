-- name: claimJobs
-- At most $4 free jobs of one lane under one new lease; never one that another worker is claiming. No row: none is free.
select lease_id::text as lease, job_id::text as id, seq::text as seq, type_id as type, priority, attempt, max_attempts as max,
       created_at as created, payload
from holdfast.claim_jobs($1::text::integer, $2::text::smallint, $3::integer[], $4::text::integer, $5::text::integer, $6::bigint[])

-- name: promoteDue
-- Moves jobs whose time has come into the queue. Answers with how many, how far it read, and when the next is due.
select promoted, read_to::text as readto, next_in_ms as nextin from holdfast.promote_due($1::text::integer, $2::text::timestamptz)

-- name: fallAsleep
-- Asks producers to wake this worker in these lanes.
insert into holdfast.sleepers (lane_id, worker_id) select lane_id, $2::text::integer from unnest($1::smallint[]) as l (lane_id)
on conflict do nothing

-- name: stayAwake
-- Tells producers that this worker needs no waking.
delete from holdfast.sleepers where worker_id = $1::text::integer
