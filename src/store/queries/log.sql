-- name: writeLog
-- Keeps what handlers reported: progress (the latest counts) and lines.
select holdfast.write_log($1::uuid[], $2::smallint[], $3::float8[], $4::text[], $5::text[], $6::float8[], $7::text[])::text as done

-- name: saveCheckpoint
-- Keeps where a retry is to go on. False: the attempt no longer holds its lease.
select holdfast.save_checkpoint($1::text::uuid, $2::text::bigint, $3::text) as saved

-- name: checkpointOfJob
-- Where the next attempt of a job is to go on. No row: at the beginning.
select value from holdfast.checkpoints where job_id = $1::text::uuid

-- name: progressOfJob
-- How far a job is, as its handler said last.
select attempt, fraction, note, date_part('epoch', at) * 1000 as at from holdfast.progress where job_id = $1::text::uuid

-- name: logLinesOfJob
-- At most $3 lines of a job's log after the one with id $2, first to last.
select id, attempt, date_part('epoch', at) * 1000 as at, level, line
from holdfast.log_lines where job_id = $1::text::uuid and id > $2::text::bigint order by id limit $3::text::integer
