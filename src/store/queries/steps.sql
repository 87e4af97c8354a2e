-- name: stepsOfJob
-- What attempts at a job have done step by step, in the order of the calls.
select name, kind, state, position, after, done, result::text as result, attempt, date_part('epoch', at) * 1000 as at,
       case when isfinite(until) then date_part('epoch', until) * 1000 end as until
from holdfast.steps where job_id = $1::text::uuid order by position, at

-- name: saveStep
-- Keeps what a step came to. False: the attempt no longer holds its lease.
select holdfast.save_step($1::text::uuid, $2::text::bigint, $3::text, $4::text, $5::text::integer, $6::text::integer, $7::text::integer,
                          $8::text) as saved

-- name: waitStep
-- Begins a sleep or the wait for a signal, or looks whether it is over.
select held, state, result, left_ms as left
from holdfast.wait_step($1::text::uuid, $2::text::bigint, $3::text, $4::text, $5::text::integer, $6::text::integer, $7::text::integer,
                        $8::text::float8)

-- name: signalsOfJob
-- What was sent to a job, first to last.
select name, payload::text as payload, actor, date_part('epoch', at) * 1000 as at, delivered
from holdfast.signals where job_id = $1::text::uuid order by id

-- name: typeOfJob
-- The type of a job, and whether what is stored of it is encrypted. No row: it is not kept.
select type, encrypted from holdfast.type_of_job($1::text::uuid)

-- name: sendSignal
-- Sends a signal to a job that has not ended.
select holdfast.send_signal($1::text::uuid, $2::text, $3::text, holdfast.actor($4::text, $5::text, $6::text))::text as done
