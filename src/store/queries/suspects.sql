-- name: crashesOfJobs
-- Every time a host died under one of these jobs, first to last: the worker (its lease ran out), or a thread or process.
select h.job_id::text as id, h.attempt, h.outcome::text as outcome, date_part('epoch', h.ended_at) * 1000 as at, h.worker_id as worker,
       h.error ->> 'message' as message
from unnest($1::uuid[]) as asked (job_id)
join holdfast.history as h on h.job_id = asked.job_id and h.outcome in ('crashed', 'lease_expired')
order by h.job_id, h.ended_at
