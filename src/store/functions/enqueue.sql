-- Stop 1 of a job's way. The SDK, the HTTP server and plain SQL all enqueue through enqueue_jobs.

-- Stores jobs, all or none. The arrays stand side by side, one element a job; a null element means the type's default. One
-- type alone is that of all jobs. p_fresh: the ids were made for this call, so none can exist yet. Otherwise an id that exists
-- answers as existing, or is refused where that is another job; one whose first transaction is still open is waited for.
-- p_keys_taken: take_keys has been asked for these jobs, in this transaction. p_traces: the trace of each; null where none has one. p_tags: the
-- tags of each as the text of an array; null where none has any.
-- p_approvals: what each enqueue asks for beyond its type. p_uniques: each job's uniqueness in the form of enqueue's option
-- "unique", false for none; null where no job has any. An array in which every element is null may be empty instead.
-- p_owner: the service whose jobs these are, and whose keys they take; null: the application's own.
-- p_start_bys, p_expire_ins_ms: until when each has to have started, as a time or as milliseconds from now; null where none has to.
-- p_versions: the version of each payload, or one for all; null: the newest that the type has.
-- Returns only what was not simply created: the ordinal in the arrays (from 1), the id of the job that stands, and what
-- happened: existing, replaced, debounced or queued_behind.
-- A caller whose snapshot may be old does not know the lanes of today: its jobs that are due go through waiting, from where a worker
-- puts them into the lane their type is in by then.
-- Takes keys before ids and each in order, so that two calls with the same ones cannot deadlock.
create or replace function holdfast.enqueue_jobs(
  p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[],
  p_delays_ms double precision[], p_run_ats timestamptz[], p_keys text[], p_concurrency_keys text[],
  p_fresh boolean, p_keys_taken boolean, p_wake_always boolean, p_approvals jsonb[] default null, p_uniques text[] default null,
  p_traces text[] default null, p_owner text default null, p_tags text[] default null,
  p_start_bys timestamptz[] default null, p_expire_ins_ms double precision[] default null, p_versions smallint[] default null
) returns table (ordinal integer, job_id uuid, what text)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_now timestamptz := holdfast.now();
  v_taken boolean[] := array_fill(false, array[cardinality(p_ids)]);
  v_lanes smallint[];
  v_known integer[];
  v_asked integer;
  v_unique boolean;
  v_plain boolean;
  v_encrypted boolean;
  v_met record;
  v_unique_keys text[];
  v_ready holdfast.ready[];
  v_behind constant boolean := holdfast.may_be_behind();
  -- The jobs that stand for these ones with what they ask for; null where an earlier one stays as it was.
  v_standing uuid[] := p_ids;
begin
  v_plain := p_fresh and not v_behind and cardinality(p_keys) = 0 and cardinality(p_delays_ms) = 0 and cardinality(p_run_ats) = 0
    and p_approvals is null and p_uniques is null and p_tags is null and p_start_bys is null and p_expire_ins_ms is null
    and (p_versions is null or 1 = all (p_versions));
  select c.has_unique or p_uniques is not null, v_plain and c.all_plain, c.any_encrypted into v_unique, v_plain, v_encrypted
  from holdfast.check_types(p_types) as c;
  if cardinality(p_types) = 1 and (v_encrypted or not v_plain) then
    p_types := array_fill(p_types[1], array[cardinality(p_ids)]);
  end if;
  if cardinality(p_versions) = 1 and not v_plain then
    p_versions := array_fill(p_versions[1], array[cardinality(p_ids)]);
  end if;
  if v_encrypted then
    perform holdfast.refuse_plaintext(p_types, p_payloads);
  end if;
  if v_plain then
    perform holdfast.enqueue_all_plain(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_concurrency_keys, p_wake_always, p_traces,
                                       p_owner);
    return;
  end if;

  if not p_keys_taken and cardinality(array_remove(p_keys, null)) > 0 then
    for ordinal, job_id in select * from holdfast.take_keys(p_ids, p_types, p_keys, p_owner) loop
      v_taken[ordinal] := true;
      v_standing[ordinal] := null;
      what := 'existing';
      return next;
    end loop;
  end if;
  if v_unique and not p_fresh then
    -- The caller may be trying again what was stored the first time: its own job must not count as the one that is in the way.
    for ordinal, job_id in
      select a.ordinal, a.id from unnest(p_ids, v_taken) with ordinality as a (id, taken, ordinal)
      where not a.taken and exists (select from holdfast.bodies as b where b.id = a.id)
    loop
      perform holdfast.refuse_other_job(job_id, p_types[ordinal], p_payloads[ordinal], p_owner);
      v_taken[ordinal] := true;
      v_standing[ordinal] := null;
      what := 'existing';
      return next;
    end loop;
  end if;
  if v_unique then
    if cardinality(p_delays_ms) = 0 then
      p_delays_ms := array_fill(null::double precision, array[cardinality(p_ids)]);
    end if;
    for v_met in
      select * from holdfast.take_uniques(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats,
                                          p_keys, p_concurrency_keys, p_approvals, p_uniques, v_taken, p_wake_always, p_owner)
    loop
      v_taken[v_met.ordinal] := v_met.stored;
      v_unique_keys[v_met.ordinal] := v_met.key;
      v_standing[v_met.ordinal] := case when v_met.what <> 'existing' then v_met.job_id end;
      if v_met.what in ('replaced', 'debounced') then
        delete from holdfast.start_deadlines as d where d.job_id = v_met.job_id;
      end if;
      if v_met.stored and v_met.what <> 'existing' then
        update holdfast.bodies as b set version = nullif(coalesce(p_versions[v_met.ordinal], t.version), 1) from holdfast.types as t
        where b.id = v_met.job_id and t.id = b.type_id and b.version is distinct from nullif(coalesce(p_versions[v_met.ordinal], t.version), 1);
      end if;
      p_delays_ms[v_met.ordinal] := coalesce(v_met.delay_ms, p_delays_ms[v_met.ordinal]);
      if coalesce(p_traces[v_met.ordinal], p_tags[v_met.ordinal]) is not null and v_met.stored and v_met.what <> 'existing' then
        update holdfast.bodies as b set traceparent = coalesce(p_traces[v_met.ordinal], b.traceparent),
                                        tags = coalesce(p_tags[v_met.ordinal]::text[], b.tags) where b.id = v_met.job_id;
      end if;
      if v_met.what <> 'created' then
        ordinal := v_met.ordinal;
        job_id := v_met.job_id;
        what := v_met.what;
        return next;
      end if;
    end loop;
  end if;

  with asked as materialized (
    select a.ordinal, a.id, t.id as type_id, t.lane_id, coalesce(a.priority, t.priority) as priority,
           coalesce(a.max_attempts, t.max_attempts) as max_attempts, a.payload, a.key, a.concurrency_key, a.unique_key, a.traceparent, a.tags::text[] as tags,
           nullif(coalesce(a.version, t.version), 1) as version,
           case when t.gated then holdfast.next_position(t.id, a.concurrency_key) end as position,
           coalesce(a.run_at, v_now + a.delay_ms * interval '1 millisecond') as run_at,
           case when t.approval is not null or a.approval is not null then holdfast.approval_rule(t.approval, a.approval) end as approval
    from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, p_concurrency_keys,
                v_taken, p_approvals, p_traces, p_tags, v_unique_keys, p_versions)
         with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, key, concurrency_key, taken, approval,
                               traceparent, tags, unique_key, version, ordinal)
    join holdfast.types as t on t.name = a.type
    where not a.taken
  ), stored as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, unique_key, traceparent, payload,
                                 owner, tags, version, position)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, unique_key, traceparent, payload::json, p_owner, tags, version, position
    from asked where p_fresh
  ), stored_unless_known as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, unique_key, traceparent, payload,
                                 owner, tags, version, position)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, unique_key, traceparent, payload::json, p_owner, tags, version, position
    from asked where not p_fresh order by id
    on conflict do nothing
    returning id
  ), judged as materialized (
    select n.*, n.is_new and n.approval is null as goes_on from (
      select asked.*, p_fresh or id in (select id from stored_unless_known) as is_new, (run_at is null or run_at <= v_now) and not v_behind as is_due,
             v_now + (approval ->> 'deadline_ms')::double precision * interval '1 millisecond' as decide_by,
             case when position is not null then (concurrency_key, position)::holdfast.key_position end as key_position
      from asked
    ) as n
  ), scheduled as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status, key_position)
    select id, coalesce(run_at, v_now), type_id, lane_id, priority, 1, 'scheduled', key_position from judged where goes_on and not is_due
    union all
    select id, coalesce(decide_by, 'infinity'), type_id, lane_id, priority, 1, 'awaiting_approval', key_position
    from judged where is_new and approval is not null
  ), requested as (
    insert into holdfast.approval_requests (job_id, quorum, deadline, on_deadline, run_at)
    select id, (approval ->> 'quorum')::smallint, decide_by, approval ->> 'on_deadline', run_at
    from judged where is_new and approval is not null
  )
  -- A job that is due within 12 seconds notifies idle workers too: they look for due jobs only every two to eight seconds.
  select array_agg(distinct lane_id) filter (where goes_on and not is_due and (run_at is null or run_at < v_now + interval '12 seconds')),
         array_agg(judged.ordinal) filter (where not is_new), count(*),
         array_agg((id, type_id, priority, 1, v_now, null)::holdfast.ready order by judged.ordinal) filter (where goes_on and is_due)
  into v_lanes, v_known, v_asked, v_ready from judged;

  -- An enqueue that stored fewer jobs than it was given fails as a whole, whatever the reason: an acknowledged job must exist.
  v_asked := v_asked + cardinality(array_positions(v_taken, true));
  if v_asked <> cardinality(p_ids) then
    raise exception 'only % of % jobs could be stored', v_asked, cardinality(p_ids) using errcode = 'XX000';
  end if;

  foreach ordinal in array coalesce(v_known, '{}') loop
    job_id := p_ids[ordinal];
    v_standing[ordinal] := null;
    what := 'existing';
    perform holdfast.refuse_other_job(job_id, p_types[ordinal], p_payloads[ordinal], p_owner);
    -- This call, or take_keys before it, took the idempotency key for a job that turned out to exist already, without that key.
    delete from holdfast.idempotency_keys as k using holdfast.types as t
    where t.name = p_types[ordinal] and k.type_id = t.id and k.key = p_keys[ordinal] and k.job_id = p_ids[ordinal];
    return next;
  end loop;

  if p_versions is not null then
    perform holdfast.note_newer(v_standing, p_types, p_versions);
  end if;
  perform holdfast.put_ready(v_ready, p_wake_always);
  if p_start_bys is not null or p_expire_ins_ms is not null then
    perform holdfast.set_start_deadlines(v_standing, p_start_bys, p_expire_ins_ms);
  end if;
  perform holdfast.wake_lanes(v_lanes, p_wake_always);
end $$;

-- Stores one new job that is due at once and has no key, which is what most enqueues are. Where its type is plain too, that is two inserts
-- and a look for idle workers to notify, at a third of the cost of enqueue_jobs. Returns null where the job was simply created; else what
-- happened, and the id of the job that stands. Writes to queue itself, not through put_ready: nothing can hold such a job back.
create or replace function holdfast.enqueue_job(
  p_id uuid, p_type text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text, p_wake_always boolean,
  p_owner text, p_trace text, p_version smallint default null) returns text language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_now timestamptz := holdfast.now();
  v_type record;
begin
  select t.id, t.lane_id, coalesce(p_priority, t.priority) as priority, coalesce(p_max_attempts, t.max_attempts) as max_attempts,
         not t.gated and t.uniqueness is null and t.approval is null and t.version = 1 and coalesce(p_version, 1) = 1
           and not holdfast.may_be_behind() as plain, t.encrypted
  into v_type from holdfast.types as t where t.name = p_type;
  if not found or not v_type.plain then
    return (select e.what || ' ' || e.job_id from holdfast.enqueue_jobs(
      array[p_id], array[p_type], array[p_payload], array[p_priority], array[p_max_attempts], '{}', '{}', '{}',
      array[p_concurrency_key], true, false, p_wake_always, p_traces => case when p_trace is not null then array[p_trace] end,
      p_owner => p_owner, p_versions => case when p_version is not null then array[p_version] end) as e);
  end if;
  if v_type.encrypted then
    perform holdfast.refuse_plaintext(array[p_type], array[p_payload]);
  end if;
  insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, concurrency_key, traceparent, payload, owner)
  values (p_id, v_type.id, v_type.priority, v_type.max_attempts, v_now, p_concurrency_key, p_trace, p_payload::json, p_owner);
  insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
  values (v_now, p_id, v_type.id, v_type.lane_id, v_type.priority, 1);
  if p_wake_always or exists (select from holdfast.idle_workers as s where s.lane_id = v_type.lane_id) then
    perform holdfast.wake_lanes(array[v_type.lane_id], true);
  end if;
  return null;
end $$;

-- The same for many. Runs under the plan settings of enqueue_jobs. Two plain inserts, because sharing rows between them costs
-- more than reading the arrays twice, and arrays in the select list, because in the from clause their rows are copied first.
-- For the same reason it does not go through put_ready.
create or replace function holdfast.enqueue_all_plain(
  p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[], p_concurrency_keys text[],
  p_wake_always boolean, p_traces text[], p_owner text
) returns void language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_type holdfast.types;
  v_type_ids integer[];
  v_lane_ids smallint[];
  v_stored integer;
  v_queued integer;
begin
  if cardinality(p_types) = 1 then
    select * into v_type from holdfast.types as t where t.name = p_types[1];
    v_lane_ids := array[v_type.lane_id];
  else
    select array_agg(t.id order by a.ordinal), array_agg(t.lane_id order by a.ordinal),
           array_agg(coalesce(a.priority, t.priority) order by a.ordinal), array_agg(coalesce(a.max_attempts, t.max_attempts) order by a.ordinal)
    into v_type_ids, v_lane_ids, p_priorities, p_max_attempts
    from unnest(p_types, p_priorities, p_max_attempts) with ordinality as a (type, priority, max_attempts, ordinal)
    left join holdfast.types as t on t.name = a.type;
  end if;
  insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, concurrency_key, traceparent, payload, owner)
  select a.id, coalesce(a.type_id, v_type.id), coalesce(a.priority, v_type.priority), coalesce(a.max_attempts, v_type.max_attempts),
         v_now, a.concurrency_key, a.traceparent, a.payload::json, p_owner
  from (select unnest(p_ids) as id, unnest(v_type_ids) as type_id, unnest(p_priorities) as priority,
               unnest(p_max_attempts) as max_attempts, unnest(p_concurrency_keys) as concurrency_key,
               unnest(p_traces) as traceparent, unnest(p_payloads) as payload) as a;
  get diagnostics v_stored = row_count;
  insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
  select v_now, a.id, coalesce(a.type_id, v_type.id), coalesce(a.lane_id, v_type.lane_id), coalesce(a.priority, v_type.priority), 1
  from (select unnest(p_ids) as id, unnest(v_type_ids) as type_id, unnest(v_lane_ids) as lane_id, unnest(p_priorities) as priority) as a;
  get diagnostics v_queued = row_count;
  if v_stored <> cardinality(p_ids) or v_queued <> cardinality(p_ids) then
    raise exception 'only % of % jobs could be stored', least(v_stored, v_queued), cardinality(p_ids) using errcode = 'XX000';
  end if;
  perform holdfast.wake_lanes(array(select distinct unnest(v_lane_ids)), p_wake_always);
end $$;
