-- name: dueSchedules
-- What is due for this worker, if it is its turn. Where nothing is due it reads two index entries and writes nothing.
select now_ms as now, due, next_in_ms as "nextInMs" from holdfast.due_schedules($1::text::integer, $2::text::integer, $3::text::integer)

-- name: fireSchedule
-- Makes the jobs of ticks and moves the schedule on, in one transaction. Null: the schedule has changed since it was read, and nothing was done.
select holdfast.fire_schedule($1::uuid, $2::text::bigint, $3::text::timestamptz, $4::timestamptz[], $5::timestamptz[], $6::uuid[], $7::text[],
  $8::text::timestamptz, $9::text::timestamptz, $10::text::integer, $11::text::timestamptz) as fired

-- name: putOffSchedule
-- Notes why a schedule could not be fired. It comes again after a minute.
select holdfast.put_off_schedule($1::uuid, $2::text::bigint, $3::text::timestamptz, $4::text)::text as done

-- name: forgetTicks
-- Forgets ticks that are older than $1 milliseconds, at most $2.
select holdfast.forget_ticks($1::text::float8 * interval '1 millisecond', $2::text::integer) as gone

-- name: defineSchedules
-- Writes the definitions of a set of code. Answers with what is not as it was.
select name, what from holdfast.define_schedules($1::text, $2::text[], $3::text[]::jsonb[])

-- name: createSchedule
-- Creates a schedule at run time. Refused where there is one of that name.
select holdfast.create_schedule($1::text, $2::text::jsonb, holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: changeSchedule
-- Refused where the schedule is not at that revision any more.
select holdfast.change_schedule($1::text, $2::text::bigint, $3::text::jsonb, holdfast.actor($4::text, $5::text, $6::text))::text as done

-- name: resetSchedule
-- Takes back what operators changed. False: nothing was.
select holdfast.reset_schedule($1::text, holdfast.actor($2::text, $3::text, $4::text)) as done

-- name: pauseSchedule
-- Pauses a schedule. False: it was paused.
select holdfast.pause_schedule($1::text, holdfast.actor($2::text, $3::text, $4::text), $5::text::float8 * interval '1 millisecond') as done

-- name: resumeSchedule
-- Lets a schedule tick again from now on. False: it was not paused.
select holdfast.resume_schedule($1::text, holdfast.actor($2::text, $3::text, $4::text)) as done

-- name: runSchedule
-- Makes a job of a schedule now, where it is at that revision still.
select holdfast.run_schedule($1::text, $2::text::bigint, $3::uuid, $4::text, holdfast.actor($5::text, $6::text, $7::text)) as fired

-- name: backfillSchedule
-- Makes jobs of those ticks that have none, all or none, where the schedule is at that revision still.
select holdfast.backfill_schedule($1::text, $2::text::bigint, $3::timestamptz[], $4::uuid[], $5::text[], holdfast.actor($6::text, $7::text, $8::text)) as made

-- name: removeSchedule
-- Removes a schedule that does not stand in code.
select holdfast.remove_schedule($1::text, holdfast.actor($2::text, $3::text, $4::text))::text as done

-- name: pruneSchedules
-- Removes the schedules that are gone from code, or with $1 only names them.
select n.name from holdfast.prune_schedules($1::text::boolean, holdfast.actor($2::text, $3::text, $4::text)) as n (name)

-- name: readSchedules
-- Schedules by name, after $1, at most $2; with $3 that one alone. Moments are milliseconds since 1970.
select s.id::text as id, s.name, s.set_name as set, s.defined, s.override, s.revision::text as revision, date_part('epoch', holdfast.now()) * 1000 as now,
       date_part('epoch', s.handled_to) * 1000 as handled, date_part('epoch', s.gone_since) * 1000 as gone,
       date_part('epoch', s.created_at) * 1000 as created, s.created_by as "createdBy",
       date_part('epoch', s.changed_at) * 1000 as changed, s.changed_by as "changedBy", s.changed_why as "changedWhy",
       date_part('epoch', s.paused_at) * 1000 as paused, s.paused_by as "pausedBy", s.paused_why as "pausedWhy",
       date_part('epoch', s.paused_until) * 1000 as "pausedUntil",
       date_part('epoch', s.last_tick) * 1000 as "lastTick", s.last_job::text as "lastJob", s.dropped::text as dropped,
       date_part('epoch', s.dropped_to) * 1000 as "droppedTo", s.error, date_part('epoch', s.error_at) * 1000 as "errorAt",
       coalesce(t.encrypted, false) as encrypted, t.redact
from holdfast.schedules as s left join holdfast.types as t on t.name = holdfast.schedule_spec(s) ->> 'type'
where case when $3::text is null then s.name > $1::text else s.name = $3::text end order by s.name limit $2::text::integer

-- name: readTicks
-- The latest ticks of a schedule, newest first.
select date_part('epoch', t.tick) * 1000 as tick, t.kind, t.outcome, t.job_id::text as job, t.in_the_way::text as "inTheWay",
       holdfast.status_of(t.job_id) as status
from holdfast.ticks as t where t.schedule_id = $1::uuid order by t.tick desc limit $2::text::integer
