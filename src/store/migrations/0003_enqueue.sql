-- Why: stop 1 of a job's way. The SDK, the HTTP server and plain SQL all enqueue through enqueue_jobs.
-- Lock: none. Cost: milliseconds. Old workers: none. Back: drop the functions.

-- Wakes workers of a lane, once per transaction however often it is called. Never carries data.
-- NOTIFY serialises commits across the whole database, so it is sent only where somebody may be asleep; 'always' is for
-- transactions that commit later, when that may have changed.
create function holdfast.wake_lanes(p_lanes smallint[], p_always boolean) returns void language plpgsql as $$
begin
  perform pg_notify('holdfast_lane_' || lane.id, '')
  from unnest(p_lanes) as lane (id)
  where p_always or exists (select from holdfast.sleepers as s where s.lane_id = lane.id);
end $$;

-- Refuses a type nobody registered, naming those that are. True where any of them has a uniqueness of its own.
create function holdfast.check_types(p_types text[]) returns boolean language plpgsql as $$
declare
  v_missing text;
  v_known text;
  v_unique boolean;
begin
  select min(asked.name) filter (where t.id is null), bool_or(t.uniqueness is not null) into v_missing, v_unique
  from (select distinct unnest(p_types) as name) as asked left join holdfast.types as t on t.name = asked.name;
  if v_missing is null then
    return coalesce(v_unique, false);
  end if;
  select string_agg(t.name, ', ' order by t.name) into v_known from (select name from holdfast.types limit 50) as t;
  raise exception 'no job type named "%" is registered', v_missing using errcode = 'HF001', detail = coalesce(v_known, '');
end $$;

-- Stores jobs, all or none. The arrays stand side by side, one element a job; a null element means the type's default.
-- p_fresh: the ids were made for this call, so none can exist yet; otherwise an id that exists answers as existing.
-- p_uniques: each job's uniqueness in the form of enqueue's option "unique", false for none; null where no job has any.
-- Returns only what was not simply created: the place in the arrays (from 1), the id of the job that stands, and what
-- happened: existing, replaced, debounced or queued_behind.
create function holdfast.enqueue_jobs(
  p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[],
  p_delays_ms double precision[], p_run_ats timestamptz[], p_keys text[], p_concurrency_keys text[],
  p_fresh boolean, p_wake_always boolean, p_uniques text[] default null
) returns table (place integer, job_id uuid, what text)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_taken boolean[] := array_fill(false, array[cardinality(p_ids)]);
  v_lanes smallint[];
  v_unique boolean;
  v_met record;
begin
  v_unique := holdfast.check_types(p_types) or p_uniques is not null;

  if not p_fresh or array_length(array_remove(p_keys, null), 1) > 0 then
    for place, job_id in select * from holdfast.jobs_that_stand(p_ids, p_types, p_keys, p_fresh) loop
      v_taken[place] := true;
      what := 'existing';
      return next;
    end loop;
  end if;
  if v_unique then
    for v_met in
      select * from holdfast.take_uniques(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats,
                                          p_keys, p_concurrency_keys, p_uniques, v_taken, p_wake_always)
    loop
      v_taken[v_met.place] := v_met.stored;
      p_delays_ms[v_met.place] := coalesce(v_met.delay_ms, p_delays_ms[v_met.place]);
      if v_met.what <> 'created' then
        place := v_met.place;
        job_id := v_met.job_id;
        what := v_met.what;
        return next;
      end if;
    end loop;
  end if;

  with asked as materialized (
    select a.place, a.id, t.id as type_id, t.lane_id, t.gated, coalesce(a.priority, t.priority) as priority,
           coalesce(a.max_attempts, t.max_attempts) as max_attempts, a.payload, a.key, a.concurrency_key,
           coalesce(a.run_at, v_now + a.delay_ms * interval '1 millisecond') as run_at
    from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, p_concurrency_keys,
                v_taken)
         with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, key, concurrency_key, taken, place)
    join holdfast.types as t on t.name = a.type
    where not a.taken
  ), stored as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, payload)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, payload::json from asked
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select v_now, id, type_id, lane_id, priority, 1 from asked
    where (run_at is null or run_at <= v_now) and not gated order by asked.place
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select a.id, v_now - a.priority * l.ageing, v_now, a.type_id, a.lane_id, a.priority, 1, coalesce(a.concurrency_key, '')
    from asked as a join holdfast.lanes as l on l.id = a.lane_id where (a.run_at is null or a.run_at <= v_now) and a.gated
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key)
    select distinct type_id, coalesce(concurrency_key, '') from asked where (run_at is null or run_at <= v_now) and gated
  ), scheduled as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select id, run_at, type_id, lane_id, priority, 1, 'scheduled' from asked where run_at > v_now
  )
  -- A job due within moments wakes its lane too: nobody may be looking at the clock as closely as that.
  select array_agg(distinct lane_id) into v_lanes from asked where run_at is null or run_at < v_now + interval '3 seconds';

  perform holdfast.wake_lanes(v_lanes, p_wake_always);
end $$;

-- Takes the idempotency keys that are free, and returns the jobs that stand in the way of the rest, by id or by key.
-- Goes in key order, so that two calls with the same keys cannot deadlock. A key whose first transaction is still open
-- is waited for, and taken if that transaction rolls back. Row by row: only jobs with a key or a brought id pay for it.
create function holdfast.jobs_that_stand(p_ids uuid[], p_types text[], p_keys text[], p_fresh boolean)
returns table (place integer, job_id uuid)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
as $$
declare
  v_job record;
begin
  for v_job in
    select a.place, a.id, a.key, t.id as type_id
    from unnest(p_ids, p_types, p_keys) with ordinality as a (id, type, key, place)
    join holdfast.types as t on t.name = a.type
    where a.key is not null or not p_fresh
    order by t.id, a.key, a.id
  loop
    place := v_job.place;
    job_id := null;
    if not p_fresh then
      -- Of two calls with one id the second waits here until the first has committed or rolled back.
      perform pg_advisory_xact_lock(hashtextextended(v_job.id::text, 0));
      select b.id into job_id from holdfast.bodies as b where b.id = v_job.id;
    end if;
    while job_id is null and v_job.key is not null loop
      insert into holdfast.idempotency_keys (type_id, key, job_id) values (v_job.type_id, v_job.key, v_job.id)
      on conflict do nothing;
      exit when found;
      select k.job_id into job_id from holdfast.idempotency_keys as k where k.type_id = v_job.type_id and k.key = v_job.key;
    end loop;
    if job_id is not null then
      return next;
    end if;
  end loop;
end $$;

-- Enqueues one job from psql, a trigger or any language, in the caller's transaction:
--   select * from holdfast.enqueue('send_email', '{"to": "ada@example.com"}', '{"delay": "5 minutes", "priority": 9}');
create function holdfast.enqueue(type text, payload jsonb, options jsonb default '{}')
returns table (id uuid, status text)
language plpgsql as $$
declare
  v_unknown text;
  v_id uuid;
  v_stands uuid;
  v_what text;
begin
  select o.key into v_unknown from jsonb_object_keys(options) as o (key)
  where o.key not in ('id', 'priority', 'max_attempts', 'delay', 'run_at', 'idempotency_key', 'concurrency_key', 'unique')
  limit 1;
  if v_unknown is not null then
    raise exception 'unknown option "%"', v_unknown using errcode = 'HF002',
      hint = 'The options are id, priority, max_attempts, delay, run_at, idempotency_key, concurrency_key and unique.';
  end if;
  if options ? 'delay' and options ? 'run_at' then
    raise exception 'delay and run_at exclude each other' using errcode = 'HF002';
  end if;
  if payload is null then
    raise exception 'the payload is null; a job without data has the payload {}' using errcode = 'HF002';
  end if;
  if octet_length(payload::text) > 65536 then
    raise exception 'the payload has % bytes; at most 65536 are stored', octet_length(payload::text) using errcode = 'HF003';
  end if;
  v_id := coalesce((options ->> 'id')::uuid, holdfast.new_job_id());
  if substr(v_id::text, 15, 1) <> '7' then
    raise exception 'id % is not a UUIDv7', v_id using errcode = 'HF002', hint = 'Use idempotency_key for keys of your own.';
  end if;
  select e.job_id, e.what into v_stands, v_what from holdfast.enqueue_jobs(
    array[v_id], array[type], array[payload::text], array[(options ->> 'priority')::smallint],
    array[(options ->> 'max_attempts')::smallint],
    array[extract(epoch from (options ->> 'delay')::interval)::double precision * 1000],
    array[(options ->> 'run_at')::timestamptz], array[options ->> 'idempotency_key'], array[options ->> 'concurrency_key'],
    not options ? 'id', true, case when options ? 'unique' then array[nullif(options -> 'unique', 'null')::text] end) as e;
  return query select coalesce(v_stands, v_id), coalesce(v_what, 'created');
end $$;
