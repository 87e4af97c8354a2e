-- name: registerWaiters
-- Asks whoever ends one of these jobs to notify this process.
insert into holdfast.waiters (job_id, process, since)
select j.id, $2::text::uuid, holdfast.now() from unnest($1::uuid[]) as j (id) order by j.id
on conflict do nothing

-- name: unregisterWaiters
-- This process waits for these jobs no more.
delete from holdfast.waiters where job_id = any ($1::uuid[]) and process = $2::text::uuid

-- name: endsOfJobs
-- Of these jobs, those that have ended, and how. Without a status: nothing is kept of it.
select id::text as id, type, encrypted, status, reason, attempt, error, result from holdfast.ends_of($1::uuid[])
