-- name: registerWorker
-- A new identity for this process start, never given out before.
insert into holdfast.workers (name, host, pid, version, types, versions)
values ($1::text, $2::text, $3::text::integer, $4::text, $5::integer[], $6::smallint[])
returning id

-- name: workerStopped
-- This worker has ended in good order.
update holdfast.workers set stopped_at = holdfast.now() where id = $1::text::integer
