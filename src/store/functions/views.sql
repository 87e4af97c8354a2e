-- What people see. Every job with its status, every attempt with its worker, for any SQL client.

-- A job whose body is missing is shown too, for as long as it is live or dead; its time is the one inside its id.
create or replace view holdfast.jobs as
  select s.job_id as id, t.name as type, s.status, l.name as lane, coalesce(s.priority, b.priority) as priority, s.attempt,
         coalesce(b.max_attempts, s.attempt) as max_attempts, coalesce(b.payload, 'null') as payload, b.idempotency_key, b.concurrency_key,
         coalesce(b.created_at, holdfast.time_of_id(s.job_id)) as created_at, s.due_at, s.started_at, s.finished_at, s.worker_id, s.error,
         b.owner, case when s.status = 'completed' then (select r.result from holdfast.results as r where r.job_id = s.job_id limit 1) end as result, b.tags
  from (
    select l.job_id, l.type_id, l.status, l.lane_id, l.priority, l.attempt, nullif(l.due_at, 'infinity') as due_at,
           e.claimed_at as started_at, null::timestamptz as finished_at, e.worker_id, null::jsonb as error
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
  select h.job_id, h.attempt, h.outcome, h.started_at, h.ended_at, h.worker_id, w.name as worker, h.error
  from holdfast.history as h left join holdfast.workers as w on w.id = h.worker_id;

-- One page of jobs, newest first by id. Looks at no more than p_look jobs, whatever the filter: a page can be shorter than
-- asked for, or empty, and still have a next one, and no question costs more than that. A field that is null does not matter.
-- What is read of payloads, to search them or to show them, counts in bytes as they are written out: two thousand of the largest
-- kept a core busy for five seconds. The page ends with the job that reaches p_bytes.
-- Ids are made by producers' clocks; up to a day ahead of ours is allowed for.
create or replace function holdfast.list_jobs(
  p_owner text, p_type text, p_status text, p_created_after timestamptz, p_created_before timestamptz, p_payload jsonb,
  p_before uuid, p_limit integer, p_look integer, p_bytes integer, p_tags text[],
  p_lane text, p_concurrency_key text, out jobs uuid[], out next uuid
) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off
as $$
declare
  v_type constant integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_lane constant smallint := case when p_lane is not null then holdfast.lane_named(p_lane) end;
  v_before constant uuid := least(p_before, holdfast.first_id_at(p_created_before + interval '1 day'),
                                  'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid);
  v_found integer := 0;
  v_looked integer := 0;
  v_bytes bigint := 0;
  v_fits boolean;
  v_job record;
begin
  jobs := '{}';
  for v_job in
    -- Two branches, because each has an index of its own to walk; one of them is not begun.
    select * from (
      (select b.id, b.type_id, b.created_at, b.payload, b.tags, b.concurrency_key from holdfast.bodies as b
       where p_owner is null and b.id < v_before order by b.id desc limit p_look)
      union all
      (select b.id, b.type_id, b.created_at, b.payload, b.tags, b.concurrency_key from holdfast.bodies as b
       where b.owner = p_owner and b.id < v_before order by b.id desc limit p_look)
    ) as b
  loop
    v_looked := v_looked + 1;
    v_fits := (v_type is null or v_job.type_id = v_type) and (p_tags is null or v_job.tags @> p_tags)
      and (p_concurrency_key is null or v_job.concurrency_key = p_concurrency_key)
      and (p_created_after is null or v_job.created_at >= p_created_after)
      and (p_created_before is null or v_job.created_at < p_created_before)
      -- A job that has ended stands in no lane; it counts for that of its type, as it is shown.
      and (v_lane is null
           or v_lane = coalesce((select l.lane_id from holdfast.live as l where l.job_id = v_job.id limit 1),
                                (select t.lane_id from holdfast.types as t where t.id = v_job.type_id)))
      and (p_payload is not null or p_status is null or holdfast.status_of(v_job.id) = p_status);
    if v_fits then
      v_bytes := v_bytes + octet_length(v_job.payload::text);
    end if;
    if v_fits and (p_payload is null
                   or v_job.payload::jsonb @> p_payload and (p_status is null or holdfast.status_of(v_job.id) = p_status)) then
      jobs := jobs || v_job.id;
      v_found := v_found + 1;
    end if;
    if v_found = p_limit or v_looked = p_look or v_bytes >= p_bytes then
      next := v_job.id;
      return;
    end if;
  end loop;
end $$;
