-- name: missingPartitions
-- Which partitions of today and the days ahead are still to be made.
select family, day::text as day from holdfast.missing_partitions()

-- name: makePartition
-- Makes one partition, unless it is there or being made by somebody else. Waits at most 100 ms for its locks.
select holdfast.make_partition($1::text, $2::text::date) as made

-- name: dropOldestPartition
-- Drops the oldest day that nothing needs any more, after carrying over the few rows that are. Null: none is old enough.
select holdfast.drop_oldest_partition($1::text::float8 * interval '1 millisecond', $2::text::float8 * interval '1 millisecond') as dropped

-- name: retentionRan
-- Notes that everything that had its time is gone, and how long it was to be kept. Not while days that had theirs wait for the archive.
insert into holdfast.retention_ran as r (ran_at, completed, dead)
select holdfast.now(), $1::text::float8 * interval '1 millisecond', $2::text::float8 * interval '1 millisecond'
where coalesce(holdfast.kept_for_archive(holdfast.now()) < $1::text::float8 * interval '1 millisecond' + interval '24 hours', true)
on conflict (one) do update set ran_at = excluded.ran_at, completed = excluded.completed, dead = excluded.dead

-- name: sweepDefaultPartitions
-- Removes a few old rows that were carried over, and what belongs to jobs that are gone. Answers with how many.
select holdfast.sweep_rest($1::text::float8 * interval '1 millisecond', $2::text::float8 * interval '1 millisecond', $3::text::integer) as swept

-- name: readRetention
-- How long jobs are kept after their end, in milliseconds.
select holdfast.setting('retention_completed') as completed, holdfast.setting('retention_dead') as dead
