-- Why: what people see. Every job with its status, every attempt with its worker, for any SQL client.
-- Lock: none. Cost: milliseconds. Old workers: none. Back: drop the views.

create view holdfast.jobs as
  select b.id, t.name as type, s.status, l.name as lane, coalesce(s.priority, b.priority) as priority, s.attempt, b.max_attempts, b.payload,
         b.idempotency_key, b.concurrency_key, b.created_at, s.due_at, s.started_at, s.finished_at, s.worker_id, s.error
  from (
    select q.job_id, case when q.lease_id is null then 'pending' else 'processing' end as status, q.lane_id, q.priority,
           q.attempt, q.ready_at as due_at, e.claimed_at as started_at, null::timestamptz as finished_at, e.worker_id,
           null::jsonb as error
    from holdfast.queue as q left join holdfast.leases as e on e.id = q.lease_id
    union all
    select w.job_id, w.status, w.lane_id, w.priority, w.attempt, nullif(w.due_at, 'infinity'), null, null, null, null
    from holdfast.waiting as w
    union all
    select g.job_id, 'pending', g.lane_id, g.priority, g.attempt, g.ready_at, null, null, null, null
    from holdfast.gated as g
    union all
    select f.job_id, 'pending', f.lane_id, f.priority, 1::smallint, f.due_at, null, null, null, null
    from holdfast.following as f
    union all
    select d.job_id, 'dead', null, d.priority, d.attempt, null, null, d.died_at, null, d.error
    from holdfast.dead_letters as d
    union all
    select h.job_id, h.outcome::text, null, null, h.attempt, null, h.started_at, h.ended_at, h.worker_id, h.error
    from holdfast.history as h where h.outcome in ('completed', 'cancelled', 'discarded')
  ) as s
  join holdfast.bodies as b on b.id = s.job_id
  join holdfast.types as t on t.id = b.type_id
  join holdfast.lanes as l on l.id = coalesce(s.lane_id, t.lane_id);

create view holdfast.attempts as
  select h.job_id, h.attempt, h.outcome, h.started_at, h.ended_at, h.worker_id, w.name as worker, h.error
  from holdfast.history as h left join holdfast.workers as w on w.id = h.worker_id;
