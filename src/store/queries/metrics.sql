-- name: takeNote
-- Adds how long attempts took, which results came too late, which requests to enqueue were refused and how duties went. The same note twice counts once.
select holdfast.take_note($1::uuid, $2::text[], $3::smallint[], $4::integer[], $5::float8[], $6::text[], $7::integer[],
                          $8::smallint[], $9::integer[], $10::text[], $11::integer[], $12::integer[], $13::float8[])::text as done

-- name: keepTotals
-- Adds up what was counted and counts the dead letters, unless somebody else does.
select holdfast.keep_totals()::text as done

-- name: readMetrics
-- Everything that is measured, in one snapshot, from what is kept: never from jobs, their bodies or their history.
select holdfast.read_metrics()::text as metrics
