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

-- Refuses a type nobody registered, naming the registered ones that look most like it. True where any of them has a
-- uniqueness of its own.
create function holdfast.check_types(p_types text[]) returns boolean language plpgsql as $$
declare
  v_missing text;
  v_known text;
  v_unique boolean;
begin
  select min(coalesce(asked.name, '')) filter (where t.id is null), bool_or(t.uniqueness is not null) into v_missing, v_unique
  from (select distinct unnest(p_types) as name) as asked left join holdfast.types as t on t.name = asked.name;
  if v_missing is null then
    return coalesce(v_unique, false);
  end if;
  select string_agg(near.name, ', ') into v_known
  from (select t.name from holdfast.types as t order by abs(length(t.name) - length(v_missing)), t.name limit 100) as near;
  raise exception 'no job type named "%" is registered', v_missing using errcode = 'HF001', detail = coalesce(v_known, '');
end $$;

-- Stores jobs, all or none. The arrays stand side by side, one element a job; a null element means the type's default.
-- p_fresh: the ids were made for this call, so none can exist yet. Otherwise an id that exists answers as existing; one
-- whose first transaction is still open is waited for.
-- p_keys_taken: take_keys has been asked for these jobs, in this transaction.
-- p_approvals: what each enqueue asks for beyond its type. p_uniques: each job's uniqueness in the form of enqueue's option
-- "unique", false for none; null where no job has any.
-- Returns only what was not simply created: the place in the arrays (from 1), the id of the job that stands, and what
-- happened: existing, replaced, debounced or queued_behind.
-- Takes keys before ids and each in order, so that two calls with the same ones cannot deadlock.
create function holdfast.enqueue_jobs(
  p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[],
  p_delays_ms double precision[], p_run_ats timestamptz[], p_keys text[], p_concurrency_keys text[],
  p_fresh boolean, p_keys_taken boolean, p_wake_always boolean, p_approvals jsonb[] default null, p_uniques text[] default null
) returns table (place integer, job_id uuid, what text)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := holdfast.now();
  v_taken boolean[] := array_fill(false, array[cardinality(p_ids)]);
  v_lanes smallint[];
  v_known integer[];
  v_asked integer;
  v_unique boolean;
  v_met record;
begin
  v_unique := holdfast.check_types(p_types) or p_uniques is not null;

  if not p_keys_taken and cardinality(array_remove(p_keys, null)) > 0 then
    for place, job_id in select * from holdfast.take_keys(p_ids, p_types, p_keys) loop
      v_taken[place] := true;
      what := 'existing';
      return next;
    end loop;
  end if;
  if v_unique and not p_fresh then
    -- The second try of an enqueue must not meet its own job.
    for place, job_id in
      select a.place, a.id from unnest(p_ids, v_taken) with ordinality as a (id, taken, place)
      where not a.taken and exists (select from holdfast.bodies as b where b.id = a.id)
    loop
      v_taken[place] := true;
      what := 'existing';
      return next;
    end loop;
  end if;
  if v_unique then
    for v_met in
      select * from holdfast.take_uniques(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats,
                                          p_keys, p_concurrency_keys, p_approvals, p_uniques, v_taken, p_wake_always)
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
           coalesce(a.run_at, v_now + a.delay_ms * interval '1 millisecond') as run_at,
           case when t.approval is not null or a.approval is not null then holdfast.approval_rule(t.approval, a.approval) end as approval
    from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, p_concurrency_keys,
                v_taken, p_approvals)
         with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, key, concurrency_key, taken, approval,
                               place)
    join holdfast.types as t on t.name = a.type
    where not a.taken
  ), stored as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, payload)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, payload::json from asked where p_fresh
  ), stored_unless_known as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, payload)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, payload::json
    from asked where not p_fresh order by id
    on conflict do nothing
    returning id
  ), judged as materialized (
    select n.*, n.is_new and n.approval is null as goes_on from (
      select asked.*, p_fresh or id in (select id from stored_unless_known) as is_new, run_at is null or run_at <= v_now as is_due,
             v_now + (approval ->> 'deadline_ms')::double precision * interval '1 millisecond' as decide_by
      from asked
    ) as n
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select v_now, id, type_id, lane_id, priority, 1 from judged where goes_on and is_due and not gated order by judged.place
  ), gated as (
    insert into holdfast.gated (job_id, rank, ready_at, type_id, lane_id, priority, attempt, concurrency_key)
    select j.id, v_now - j.priority * l.ageing, v_now, j.type_id, j.lane_id, j.priority, 1, coalesce(j.concurrency_key, '')
    from judged as j join holdfast.lanes as l on l.id = j.lane_id where j.goes_on and j.is_due and j.gated
    returning type_id, concurrency_key
  ), arrived as (
    insert into holdfast.arrivals (type_id, concurrency_key) select distinct g.type_id, g.concurrency_key from gated as g
  ), scheduled as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select id, run_at, type_id, lane_id, priority, 1, 'scheduled' from judged where goes_on and not is_due
    union all
    select id, coalesce(decide_by, 'infinity'), type_id, lane_id, priority, 1, 'awaiting_approval'
    from judged where is_new and approval is not null
  ), requested as (
    insert into holdfast.approval_requests (job_id, quorum, deadline, on_deadline, run_at)
    select id, (approval ->> 'quorum')::smallint, decide_by, approval ->> 'on_deadline', run_at
    from judged where is_new and approval is not null
  )
  -- A job due within moments wakes its lane too: a worker at rest looks at what waits only every two seconds.
  select array_agg(distinct lane_id) filter (where goes_on and (run_at is null or run_at < v_now + interval '3 seconds')),
         array_agg(judged.place) filter (where not is_new), count(*)
  into v_lanes, v_known, v_asked from judged;

  -- Whatever the reason, a job that was not stored must not be acknowledged.
  v_asked := v_asked + cardinality(array_positions(v_taken, true));
  if v_asked <> cardinality(p_ids) then
    raise exception 'only % of % jobs could be stored', v_asked, cardinality(p_ids) using errcode = 'XX000';
  end if;

  foreach place in array coalesce(v_known, '{}') loop
    job_id := p_ids[place];
    what := 'existing';
    -- Taken above or just before, for a job that turned out to exist without it.
    delete from holdfast.idempotency_keys as k using holdfast.types as t
    where t.name = p_types[place] and k.type_id = t.id and k.key = p_keys[place] and k.job_id = p_ids[place];
    return next;
  end loop;

  perform holdfast.wake_lanes(v_lanes, p_wake_always);
end $$;

-- Takes the idempotency keys that are free, and returns the places of the rest with the jobs that have them.
-- Goes in key order. A key whose first transaction is still open is waited for, and taken if that transaction rolls back.
-- Row by row: only jobs with a key pay for it.
create function holdfast.take_keys(p_ids uuid[], p_types text[], p_keys text[])
returns table (place integer, job_id uuid)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_job record;
begin
  for v_job in
    select a.place, a.id, a.key, t.id as type_id
    from unnest(p_ids, p_types, p_keys) with ordinality as a (id, type, key, place)
    join holdfast.types as t on t.name = a.type
    where a.key is not null
    order by t.id, a.key collate "C", a.place
  loop
    place := v_job.place;
    job_id := null;
    while job_id is null loop
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
  v_options constant jsonb := coalesce(options, '{}');
  v_asked record;
  v_number text;
  v_stands uuid;
  v_what text;
begin
  if payload is null then
    raise exception 'the payload is null; a job without data has the payload {}' using errcode = 'HF002';
  end if;
  if octet_length(payload::text) > 65536 then
    raise exception 'the payload has % bytes; at most 65536 are stored', octet_length(payload::text) using errcode = 'HF003';
  end if;
  -- jsonb keeps any number, but handlers are JavaScript, which would round this one without a word.
  select n.value::text into v_number
  from jsonb_path_query(payload, 'strict $.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))')
    as n (value)
  where case when abs(n.value::numeric) > 1.7976931348623157e308 then true
             else n.value::numeric <> n.value::numeric::float8::text::numeric end
  limit 1;
  if v_number is not null then
    raise exception 'the payload holds the number %, which a handler in JavaScript would not see exactly', left(v_number, 50)
      using errcode = 'HF004', hint = 'Write it as a text.';
  end if;

  select * into v_asked from holdfast.read_options(v_options);
  select e.job_id, e.what into v_stands, v_what from holdfast.enqueue_jobs(
    array[v_asked.id], array[type], array[payload::text], array[v_asked.priority], array[v_asked.max_attempts],
    array[v_asked.delay_ms], array[v_asked.run_at], array[v_asked.idempotency_key], array[v_asked.concurrency_key],
    v_options ->> 'id' is null, false, true, array[v_asked.approval],
    case when v_asked.uniqueness is not null then array[v_asked.uniqueness::text] end) as e;
  return query select coalesce(v_stands, v_asked.id), coalesce(v_what, 'created');
end $$;

-- Reads the options of enqueue, or says which one is wrong and how. What is left out or null is null; an id is made.
create function holdfast.read_options(
  p_options jsonb, out id uuid, out priority smallint, out max_attempts smallint, out delay_ms double precision,
  out run_at timestamptz, out idempotency_key text, out concurrency_key text, out approval jsonb, out uniqueness jsonb
) language plpgsql as $$
declare
  v_option text;
  v_problem text;
begin
  if jsonb_typeof(p_options) <> 'object' then
    raise exception 'the options are a JSON %, not an object', jsonb_typeof(p_options) using errcode = 'HF002';
  end if;
  select o.key into v_option from jsonb_object_keys(p_options) as o (key)
  where o.key not in ('id', 'priority', 'max_attempts', 'delay', 'run_at', 'idempotency_key', 'concurrency_key', 'approval',
                      'unique')
  limit 1;
  if found then
    raise exception 'unknown option "%"', v_option using errcode = 'HF002',
      hint = 'The options are id, priority, max_attempts, delay, run_at, idempotency_key, concurrency_key, approval and unique.';
  end if;
  if p_options ->> 'delay' is not null and p_options ->> 'run_at' is not null then
    raise exception 'delay and run_at exclude each other' using errcode = 'HF002';
  end if;

  begin
    v_option := 'id';
    id := p_options ->> v_option;
    v_option := 'priority';
    priority := p_options ->> v_option;
    v_option := 'max_attempts';
    max_attempts := p_options ->> v_option;
    v_option := 'delay';
    delay_ms := extract(epoch from (p_options ->> v_option)::interval) * 1000;
    v_option := 'run_at';
    run_at := p_options ->> v_option;
    v_option := 'idempotency_key';
    idempotency_key := p_options ->> v_option;
    v_option := 'concurrency_key';
    concurrency_key := p_options ->> v_option;
    v_option := 'approval';
    approval := holdfast.read_approval(p_options -> v_option);
    v_option := 'unique';
    uniqueness := nullif(p_options -> v_option, 'null');
  exception when data_exception then
    raise exception 'option % cannot be %: %', v_option, p_options -> v_option, sqlerrm using errcode = 'HF002';
  end;

  select wrong.name, wrong.rule into v_option, v_problem from (values
    ('id', substr(id::text, 15, 1) <> '7' or substr(id::text, 20, 1) not in ('8', '9', 'a', 'b'),
     'it must be a UUIDv7; for keys of your own there is idempotency_key'),
    ('priority', priority not between 0 and 9, 'it must be a whole number from 0 to 9'),
    ('max_attempts', max_attempts not between 1 and 20, 'it must be a whole number from 1 to 20'),
    -- A bare number is seconds to PostgreSQL and milliseconds to the SDK, so it is nobody's.
    ('delay', p_options ->> 'delay' ~ '^[-+ \d.]*$', 'it must have a unit, such as "5 minutes" or "90s"'),
    ('delay', delay_ms not between 0 and 157680000000, 'it must lie between 0 and five years'),
    ('run_at', run_at not between '2000-01-01Z' and '2199-12-31Z', 'it must lie between the years 2000 and 2199'),
    ('idempotency_key', length(idempotency_key) not between 1 and 500, 'it must have 1 to 500 characters'),
    ('concurrency_key', length(concurrency_key) not between 1 and 500, 'it must have 1 to 500 characters')
  ) as wrong (name, is_wrong, rule) where wrong.is_wrong limit 1;
  if found then
    raise exception 'option % is %; %', v_option, left((p_options -> v_option)::text, 100), v_problem using errcode = 'HF002';
  end if;
  id := coalesce(id, holdfast.new_job_id());
end $$;
