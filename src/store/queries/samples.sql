-- name: takeSamples
-- Writes how the numbers of each type stand that changed, unless that was done a moment ago. Answers when it looked.
select holdfast.take_samples($1::text::timestamptz, p_wanted => $2::text::integer)::text as at

-- name: thinSamples
-- Deletes samples that are too fine for their age, and those that are too old.
select holdfast.thin_samples()::text as done

-- name: readSamples
-- The samples of a time, and the last ones before it, of these types (null: all). Times are milliseconds since 1970.
select s.type_id as type, date_part('epoch', s.at) * 1000 as at, date_part('epoch', s.since) * 1000 as since, l.name as lane,
       jsonb_build_array(s.enqueued, s.completed, s.failed, s.lost, s.dead, s.expired, s.cancelled, s.running, s.workers, s.wanted) as counts,
       s.depths, to_jsonb(s.runs) as runs, s.waits
from holdfast.read_samples($1::text::timestamptz, $2::text::timestamptz, $3::text::float8 * interval '1 millisecond',
  array(select 0 union all select t.id from holdfast.types as t where $4::text[] is null or t.name = any ($4::text[]))) as s
left join holdfast.lanes as l on l.id = s.lane_id
