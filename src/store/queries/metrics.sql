-- name: takeNote
-- Adds how long attempts took and had waited, which results came too late, which requests to enqueue were refused, how duties went, and
-- what is counted of the fleet and of builds. The same note twice counts once.
select holdfast.take_note($1::uuid, $2::text[], $3::smallint[], $4::integer[], $5::float8[], $6::text[], $7::integer[],
                          $8::smallint[], $9::integer[], $10::text[], $11::integer[], $12::integer[], $13::float8[],
                          $14::text[], $15::smallint[], $16::smallint[], $17::integer[], $18::float8[], $19::text[], $20::integer[], $21::text::jsonb)::text as done

-- name: keepTotals
-- Adds up what was counted and counts the dead letters, unless somebody else does.
select holdfast.keep_totals()::text as done

-- name: readMetrics
-- Everything that is measured, in one snapshot, from what is kept: never from jobs, their bodies or their history.
select holdfast.read_metrics()::text as metrics
