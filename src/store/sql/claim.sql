-- name: claimJobs
-- At most $4 free jobs of one lane under one new lease, $7 of them through a gate; never one that another worker is claiming.
-- No row: none is free.
-- The time leaves as a number, because drivers spend longer on reading a timestamp than on all the rest of the row; whether it
-- came through a gate as true or null, because a null is not read at all.
select lease_id as lease, job_id as id, seq, type_id as type, priority, attempt, max_attempts as max,
       date_part('epoch', created_at) * 1000 as created, payload, nullif(gated, false) as gated
from holdfast.claim_jobs($1::text::integer, $2::text::smallint, $3::integer[], $4::text::integer, $5::text::integer, $6::bigint[],
                         $7::text::integer)

-- name: promoteDue
-- Moves jobs whose time has come into the queue. Answers with how many, how far it read, and when the next is due.
select promoted, read_to::text as readto, next_in_ms as nextin from holdfast.promote_due($1::text::integer, $2::text::timestamptz)

-- name: fallAsleep
-- Asks producers to wake this worker in these lanes. No row, and nothing written: they had been asked before.
insert into holdfast.sleepers (lane_id, worker_id) select lane_id, $2::text::integer from unnest($1::smallint[]) as l (lane_id)
on conflict do nothing
returning lane_id as lane

-- name: stayAwake
-- Tells producers that this worker needs no waking.
delete from holdfast.sleepers where worker_id = $1::text::integer

-- name: forgetSleepers
-- Sleepers that have not been seen for minutes are dead: every enqueue would go on calling them. Writes nothing where none is.
-- One that was only frozen says again that it sleeps.
delete from holdfast.sleepers as s
where not exists (select from holdfast.workers as w where w.id = s.worker_id and w.seen_at > holdfast.now() - interval '3 minutes')
