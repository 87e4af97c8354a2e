-- name: readFinished
-- The payload and the result of a job that has completed. No row: it has not, or is not kept any more.
select b.payload::text as payload, coalesce(b.version, 1)::integer as version,
       (select r.result::text from holdfast.results as r where r.job_id = b.id limit 1) as result
from holdfast.bodies as b
where b.id = $1::text::uuid and exists (select from holdfast.history as h where h.job_id = b.id and h.outcome = 'completed')

-- name: noteVerified
-- Counts a completed job that was looked at again.
select holdfast.note_verified($1::text, $2::text::boolean)::text as done

-- name: readVerified
-- How many completed jobs of each type were looked at again in a time, and what was found.
select t.name as type, sum(v.confirmed)::integer as confirmed, sum(v.refuted)::integer as refuted
from holdfast.verifications as v join holdfast.types as t on t.id = v.type_id
where v.at >= $1::text::timestamptz and v.at <= $2::text::timestamptz group by t.name
