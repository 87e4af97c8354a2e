-- name: cancelJobs
-- Ends jobs as cancelled, running ones too. One job always has an answer; of many, those somebody works on are passed over.
select job_id::text as id, done, was, status, because from holdfast.cancel_jobs($1::uuid[], holdfast.actor($2::text, $3::text, $4::text))

-- name: setPriority
-- Another priority for jobs that do not run.
select job_id::text as id, done, was, status, because
from holdfast.set_priority($1::uuid[], $5::text::smallint, holdfast.actor($2::text, $3::text, $4::text))

-- name: rescheduleJobs
-- Another time for jobs that do not run.
select job_id::text as id, done, was, status, because
from holdfast.reschedule_jobs($1::uuid[], $5::text::timestamptz, $6::text::float8, holdfast.actor($2::text, $3::text, $4::text))

-- name: runNow
-- Makes jobs that wait for a time due at once.
select job_id::text as id, done, was, status, because from holdfast.run_now($1::uuid[], holdfast.actor($2::text, $3::text, $4::text))

-- name: buryJobs
-- Makes dead letters of jobs that do not run.
select job_id::text as id, done, was, status, because from holdfast.bury_jobs($1::uuid[], holdfast.actor($2::text, $3::text, $4::text))

-- name: resumeJob
-- Takes up a cancelled job where it was. No row: no such job is kept.
select job_id::text as id, done, was, status, because from holdfast.resume_job($1::text::uuid, holdfast.actor($2::text, $3::text, $4::text), $5::text[])

-- name: forgetJob
-- Removes everything that is kept of a job that has ended. No row: no such job is kept.
select job_id::text as id, done, was, status, because from holdfast.forget_job($1::text::uuid, holdfast.actor($2::text, $3::text, $4::text))

-- name: matchingJobs
-- The next live jobs after $8 that fit a filter, by id.
select matching_jobs::text as id
from holdfast.matching_jobs($1::text, $2::text, $3::text, $4::text, $5::text::smallint, $6::text::timestamptz, $7::text::jsonb,
                            $8::text::uuid, $9::text::integer, $10::text[])

-- name: movesOfJob
-- What was changed about one job, first to last.
select move, actor, why, before, after, date_part('epoch', at) * 1000 as at from holdfast.moves where job_id = $1::text::uuid order by at
