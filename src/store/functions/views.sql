-- What people see. Every job with its status, every attempt with its worker, for any SQL client.

-- A job whose body is missing is shown too, for as long as it is live or dead; its time is the one inside its id.
create or replace view holdfast.jobs as
  select s.job_id as id, t.name as type, s.status, l.name as lane, coalesce(s.priority, b.priority) as priority, s.attempt,
         coalesce(b.max_attempts, s.attempt) as max_attempts, coalesce(b.payload, 'null') as payload, b.idempotency_key, b.concurrency_key,
         coalesce(b.created_at, holdfast.time_of_id(s.job_id)) as created_at, s.due_at, s.started_at, s.finished_at, s.worker_id, s.error,
         b.owner, case when s.status = 'completed' then (select r.result from holdfast.results as r where r.job_id = s.job_id limit 1) end as result, b.tags
  from (
    select l.job_id, l.type_id, l.status, l.lane_id, l.priority, l.attempt, nullif(l.due_at, 'infinity') as due_at,
           e.claimed_at as started_at, null::timestamptz as finished_at, e.worker_id,
           -- Why it is tried again.
           case when l.status = 'failed' then (
             select h.error from holdfast.history as h where h.job_id = l.job_id and h.error is not null order by h.ended_at desc limit 1) end as error
    from holdfast.live as l left join holdfast.leases as e on e.id = l.lease_id
    union all
    select d.job_id, d.type_id, 'dead', null, d.priority, d.attempt, null, null, d.died_at, null, d.error
    from holdfast.dead_letters as d
    union all
    select h.job_id, null, h.outcome::text, null, null, h.attempt, null, h.started_at, h.ended_at, h.worker_id, h.error
    from holdfast.history as h where h.outcome in ('completed', 'cancelled', 'discarded')
  ) as s
  left join holdfast.bodies as b on b.id = s.job_id
  join holdfast.types as t on t.id = coalesce(b.type_id, s.type_id)
  join holdfast.lanes as l on l.id = coalesce(s.lane_id, t.lane_id);

create or replace view holdfast.attempts as
  select h.job_id, h.attempt, h.outcome, h.started_at, h.ended_at, h.worker_id, w.name as worker, h.error,
         b.name as build
  from holdfast.history as h left join holdfast.workers as w on w.id = h.worker_id left join holdfast.builds as b on b.id = w.build_id;
