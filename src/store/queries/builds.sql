-- name: readBuilds
-- Every build that is known, the newest first, with how many of its workers live and what it was told. Moments are milliseconds since 1970.
select b.name, date_part('epoch', b.first_seen) * 1000 as seen, b.completed::float8 as completed, b.failed::float8 as failed,
       b.drain_asked_at is not null as drained, b.drain_asked_by as by, b.drain_asked_why as why,
       (select count(*) from holdfast.workers as w
        where w.build_id = b.id and w.stopped_at is null and w.seen_at > holdfast.now() - interval '1 minute')::integer as workers
from holdfast.builds as b order by b.id desc limit 100

-- name: drainBuild
-- Tells the workers of a build to claim no more, or to claim again. False: there is no such build.
select holdfast.drain_build($1::text, $2::text::boolean, holdfast.actor($3::text, $4::text, $5::text)) as known

-- name: drainWorker
-- Tells one worker to claim no more, or to claim again. No row: no worker of that id is signed on; a build: its worker is drained with it.
select drained_build as build from holdfast.drain_worker($1::text::integer, $2::text::boolean, holdfast.actor($3::text, $4::text, $5::text))

-- name: canaryFacts
-- What decides whether a build may go on. Null: there is no such build.
select holdfast.canary_facts($1::text, $2::text) as facts

-- name: pinJob
-- Pins a job that is enqueued next to a build for some milliseconds. False: no worker of the build lives, runs the type and claims.
select holdfast.pin_job($1::text::uuid, $2::text, $3::text, $4::text::double precision * interval '1 millisecond') as pinned

-- name: unpinJob
-- Ends that. A job that has not ended runs on any worker from now on.
delete from holdfast.pins where job_id = $1::text::uuid
