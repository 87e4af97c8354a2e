-- name: daysToArchive
-- The days that are over and have not been handed on, the oldest first.
select d.day::text as day from holdfast.days_to_archive() as d (day)

-- name: beginArchive
-- Begins a day, or begins it again. False: it is archived.
select holdfast.begin_archive($1::text::date, $2::text::uuid) as begun

-- name: archivePage
-- The next $3 jobs that ended in a day, by id, each as one line of JSON.
select p.id::text as id, p.line from holdfast.archive_page($1::text::date, $2::text::uuid, $3::text::integer) as p

-- name: finishArchive
-- Notes that a day has been handed on. False: it is to be begun again.
select holdfast.finish_archive($1::text::date, $2::text::uuid, $3::text::bigint) as finished
