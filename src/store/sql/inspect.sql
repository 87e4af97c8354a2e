-- name: jobById
-- One job with its status. No row: no such job is kept.
select id::text, type, status, lane, priority, attempt, max_attempts, payload::text as payload, idempotency_key, concurrency_key, created_at,
       due_at, started_at, finished_at, worker_id, error
from holdfast.jobs where id = $1::text::uuid

-- name: attemptsOfJob
-- The attempts of one job, first to last.
select attempt, outcome::text as outcome, started_at, ended_at, worker_id, worker, error
from holdfast.attempts where job_id = $1::text::uuid order by ended_at, attempt

-- name: countByStatus
-- How many jobs stand where, by type. Scans what is kept: for a person's look, not for a poll every second.
select type, status, count(*)::integer as count from holdfast.jobs group by type, status order by type, status

-- name: explainFacts
-- Everything that decides when one job may run. Null: no such job is kept.
select holdfast.explain_facts($1::text::uuid) as facts
