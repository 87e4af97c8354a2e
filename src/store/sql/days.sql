-- name: makeDays
-- Makes the partitions of today and the days ahead where they are missing. Writes nothing where none is.
select holdfast.make_days() as made

-- name: dropOneDay
-- Drops the oldest day that nothing needs any more, after carrying over the few rows that are. Null: none is old enough.
select holdfast.drop_one_day($1::text::float8 * interval '1 millisecond', $2::text::float8 * interval '1 millisecond') as dropped

-- name: sweepRest
-- Removes a few old rows that were carried over, and what belongs to jobs that are gone. Answers with how many.
select holdfast.sweep_rest($1::text::float8 * interval '1 millisecond', $2::text::float8 * interval '1 millisecond', $3::text::integer) as swept
