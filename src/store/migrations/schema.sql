-- What the migrations make, all of them together. Written by npm run schema, run by nobody: it is here for its diff.
-- The partitions of single days are left out; each is like the partition named _rest.

enum holdfast.outcome (completed, failed, timed_out, lease_expired, snoozed, handed_back, cancelled, discarded)

sequence holdfast.lanes_id_seq

sequence holdfast.lease_seq

sequence holdfast.queue_seq

sequence holdfast.types_id_seq

sequence holdfast.workers_id_seq

table holdfast.bodies partition by RANGE (id)
  id               uuid not null
  type_id          integer not null
  priority         smallint not null
  max_attempts     smallint not null
  created_at       timestamp with time zone not null
  run_at           timestamp with time zone
  idempotency_key  text
  payload          json not null
  constraint attempts_are_1_to_20 CHECK (((max_attempts >= 1) AND (max_attempts <= 20)))
  constraint bodies_pkey PRIMARY KEY (id)
  constraint payload_is_at_most_64_kb CHECK ((octet_length((payload)::text) <= 65536))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))

table holdfast.bodies_rest
  id               uuid not null
  type_id          integer not null
  priority         smallint not null
  max_attempts     smallint not null
  created_at       timestamp with time zone not null
  run_at           timestamp with time zone
  idempotency_key  text
  payload          json not null
  constraint attempts_are_1_to_20 CHECK (((max_attempts >= 1) AND (max_attempts <= 20)))
  constraint bodies_rest_pkey PRIMARY KEY (id)
  constraint payload_is_at_most_64_kb CHECK ((octet_length((payload)::text) <= 65536))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))

table holdfast.dead_letters partition by RANGE (died_at)
  job_id           uuid not null
  died_at          timestamp with time zone not null
  type_id          integer not null
  priority         smallint not null
  attempt          smallint not null
  reason           text not null
  error            jsonb
  constraint dead_has_a_reason CHECK ((reason = ANY (ARRAY['exhausted'::text, 'fatal'::text])))
  INDEX dead_letters_by_job ON ONLY holdfast.dead_letters USING btree (job_id)

table holdfast.dead_letters_rest
  job_id           uuid not null
  died_at          timestamp with time zone not null
  type_id          integer not null
  priority         smallint not null
  attempt          smallint not null
  reason           text not null
  error            jsonb
  constraint dead_has_a_reason CHECK ((reason = ANY (ARRAY['exhausted'::text, 'fatal'::text])))
  INDEX dead_letters_rest_job_id_idx ON holdfast.dead_letters_rest USING btree (job_id)

table holdfast.history partition by RANGE (ended_at)
  job_id           uuid not null
  ended_at         timestamp with time zone not null
  started_at       timestamp with time zone
  worker_id        integer
  outcome          holdfast.outcome not null
  attempt          smallint not null
  error            jsonb
  INDEX history_by_job ON ONLY holdfast.history USING btree (job_id)

table holdfast.history_rest
  job_id           uuid not null
  ended_at         timestamp with time zone not null
  started_at       timestamp with time zone
  worker_id        integer
  outcome          holdfast.outcome not null
  attempt          smallint not null
  error            jsonb
  INDEX history_rest_job_id_idx ON holdfast.history_rest USING btree (job_id)

table holdfast.idempotency_keys
  type_id          integer not null
  key              text not null
  job_id           uuid not null
  constraint idempotency_keys_once PRIMARY KEY (type_id, key)
  constraint key_is_at_most_500_characters CHECK (((length(key) >= 1) AND (length(key) <= 500)))
  INDEX idempotency_keys_by_job ON holdfast.idempotency_keys USING btree (job_id)

table holdfast.lanes
  id               smallint generated always as identity not null
  name             text not null
  ageing           interval default '00:01:00'::interval not null
  constraint ageing_is_positive CHECK ((ageing > '00:00:00'::interval))
  constraint lane_name_is_short CHECK ((name ~ '^[a-z][a-z0-9_-]{0,62}$'::text))
  constraint lanes_name UNIQUE (name)
  constraint lanes_pkey PRIMARY KEY (id)

table holdfast.leases
  id               bigint not null
  worker_id        integer not null
  claimed_at       timestamp with time zone not null
  expires_at       timestamp with time zone not null
  jobs             uuid[] not null stored external
  constraint leases_pkey PRIMARY KEY (id)
  INDEX leases_lost_first ON holdfast.leases USING btree (expires_at)
  with autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000, autovacuum_vacuum_cost_delay=0

table holdfast.migrations
  number           integer not null
  name             text not null
  checksum         text not null
  applied_at       timestamp with time zone default now() not null
  constraint migrations_pkey PRIMARY KEY (number)

table holdfast.queue
  seq              bigint default nextval('holdfast.queue_seq'::regclass) not null
  ready_at         timestamp with time zone not null
  job_id           uuid not null
  type_id          integer not null
  lane_id          smallint not null
  priority         smallint not null
  attempt          smallint not null
  lease_id         bigint
  UNIQUE INDEX queue_by_job ON holdfast.queue USING btree (job_id)
  UNIQUE INDEX queue_claim ON holdfast.queue USING btree (lane_id, priority, seq, type_id)
  with fillfactor=40, autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0, autovacuum_analyze_scale_factor=0.2

table holdfast.sleepers
  lane_id          smallint not null
  worker_id        integer not null
  constraint sleepers_pkey PRIMARY KEY (lane_id, worker_id)

table holdfast.types
  id               integer generated always as identity not null
  name             text not null
  lane_id          smallint not null
  priority         smallint default 5 not null
  max_attempts     smallint default 5 not null
  timeout_ms       integer default 300000 not null
  registered_at    timestamp with time zone default holdfast.now() not null
  constraint attempts_are_1_to_20 CHECK (((max_attempts >= 1) AND (max_attempts <= 20)))
  constraint priority_is_0_to_9 CHECK (((priority >= 0) AND (priority <= 9)))
  constraint timeout_is_positive CHECK ((timeout_ms > 0))
  constraint type_name_is_short CHECK (((length(name) >= 1) AND (length(name) <= 200)))
  constraint types_lane_id_fkey FOREIGN KEY (lane_id) REFERENCES holdfast.lanes(id)
  constraint types_name UNIQUE (name)
  constraint types_pkey PRIMARY KEY (id)

table holdfast.waiting
  job_id           uuid not null
  due_at           timestamp with time zone not null
  type_id          integer not null
  lane_id          smallint not null
  priority         smallint not null
  attempt          smallint not null
  status           text not null
  constraint waiting_by_job PRIMARY KEY (job_id)
  constraint waiting_has_a_reason CHECK ((status = ANY (ARRAY['scheduled'::text, 'failed'::text])))
  INDEX waiting_due_first ON holdfast.waiting USING btree (due_at)
  with autovacuum_vacuum_scale_factor=0.02, autovacuum_vacuum_threshold=2000, autovacuum_vacuum_cost_delay=0

table holdfast.workers
  id               integer generated always as identity not null
  name             text not null
  host             text not null
  pid              integer not null
  version          text not null
  started_at       timestamp with time zone default holdfast.now() not null
  seen_at          timestamp with time zone default holdfast.now() not null
  stopped_at       timestamp with time zone
  constraint workers_pkey PRIMARY KEY (id)

function holdfast.check_types(p_types text[])
  returns void, plpgsql, volatile, parallel unsafe
declare
  v_missing text;
  v_known text;
begin
  select asked.name into v_missing from unnest(p_types) as asked (name)
  where not exists (select from holdfast.types as t where t.name = asked.name) limit 1;
  if not found then
    return;
  end if;
  select string_agg(near.name, ', ') into v_known
  from (select t.name from holdfast.types as t order by abs(length(t.name) - length(v_missing)), t.name limit 100) as near;
  raise exception 'no job type named "%" is registered', v_missing using errcode = 'HF001', detail = coalesce(v_known, '');
end 

function holdfast.claim_jobs(p_worker integer, p_lane smallint, p_types integer[], p_limit integer, p_lease_ms integer, p_after bigint[])
  returns TABLE(lease_id bigint, job_id uuid, seq bigint, type_id integer, priority smallint, attempt smallint, max_attempts smallint, created_at timestamp with time zone, payload json), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_sort=off, enable_hashjoin=off, enable_mergejoin=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_after bigint[] := p_after;
  v_step interval := (select l.ageing from holdfast.lanes as l where l.id = p_lane);
  v_ranks timestamptz[];
  v_best integer;
  v_lead interval;
  v_chunk integer;
  v_rows tid[];
  v_last bigint;
  v_all tid[] := '{}';
  v_left integer := p_limit;
begin
  -- The age-adjusted head of every priority, unlocked: a hint for the order, nothing more.
  select array_agg(head.rank order by p.priority) into v_ranks
  from generate_series(0, 9) as p (priority)
  left join lateral (
    select q.ready_at - p.priority * v_step as rank from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p.priority and q.seq > v_after[p.priority + 1] and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit 1
  ) as head on true;

  while v_left > 0 loop
    v_best := null;
    v_lead := null;
    for p in reverse 9..0 loop
      if v_ranks[p + 1] is not null then
        if v_best is null or v_ranks[p + 1] < v_ranks[v_best + 1] then
          v_lead := v_ranks[v_best + 1] - v_ranks[p + 1];
          v_best := p;
        else
          v_lead := least(v_lead, v_ranks[p + 1] - v_ranks[v_best + 1]);
        end if;
      end if;
    end loop;
    exit when v_best is null;

    -- Where the next priority is close behind, take half and look again; where it is far behind, take what is asked.
    v_chunk := case when v_lead < v_step then (v_left + 1) / 2 else v_left end;
    select array_agg(free.ctid), max(free.seq) into v_rows, v_last
    from (
      select q.ctid, q.seq from holdfast.queue as q
      where q.lane_id = p_lane and q.priority = v_best and q.seq > v_after[v_best + 1] and q.lease_id is null
        and (p_types is null or q.type_id = any (p_types))
      order by q.seq limit v_chunk
      for update skip locked
    ) as free;

    if v_rows is null then
      v_ranks[v_best + 1] := null;
      continue;
    end if;
    v_all := v_all || v_rows;
    v_left := v_left - cardinality(v_rows);
    v_after[v_best + 1] := v_last;
    exit when v_left <= 0;
    v_ranks[v_best + 1] := case when cardinality(v_rows) < v_chunk then null
      else holdfast.head_rank(p_lane, v_best::smallint, p_types, v_last, v_step) end;
  end loop;

  if v_all = '{}' then
    return;
  end if;

  lease_id := nextval('holdfast.lease_seq');
  return query
    with claimed as (
      update holdfast.queue as q set lease_id = claim_jobs.lease_id where q.ctid = any (v_all)
      returning q.job_id, q.seq, q.type_id, q.priority, q.attempt
    ), leased as (
      insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
      select claim_jobs.lease_id, p_worker, v_now, v_now + p_lease_ms * interval '1 millisecond', array_agg(c.job_id)
      from claimed as c
    )
    select claim_jobs.lease_id, c.job_id, c.seq, c.type_id, c.priority, c.attempt, b.max_attempts, b.created_at, b.payload
    from claimed as c left join holdfast.bodies as b on b.id = c.job_id
    order by c.priority desc, c.seq;
end 

function holdfast.drop_one_day(p_completed interval, p_dead interval, p_carry integer DEFAULT 5000)
  returns text, plpgsql, volatile, parallel unsafe
  set lock_timeout=100ms, enable_seqscan=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_lowest constant uuid := '00000000-0000-0000-0000-000000000000';
  v_family text;
  v_name text;
  v_day date;
  v_from uuid;
  v_to uuid;
  v_needed uuid[];
begin
  for v_family, v_name, v_day in
    select f.family, c.relname, d.day
    from (values ('dead_letters', 1, p_dead), ('history', 2, p_completed), ('bodies', 3, p_completed)) as f (family, turn, age)
    join pg_inherits as i on i.inhparent = ('holdfast.' || f.family)::regclass
    join pg_class as c on c.oid = i.inhrelid
    cross join lateral (select case when c.relname ~ '_\d{8}$' then to_date(right(c.relname, 8), 'YYYYMMDD') end as day) as d
    where (d.day + 1)::timestamp at time zone 'UTC' <= v_now - f.age
    order by f.turn, d.day
  loop
    -- An attempt can only belong to a job that was made before its day ended; a body has its own day's id.
    v_from := case v_family when 'bodies' then holdfast.first_id_at(v_day::timestamp at time zone 'UTC') else v_lowest end;
    v_to := case v_family when 'dead_letters' then v_lowest
                          else holdfast.first_id_at((v_day + 1)::timestamp at time zone 'UTC') end;
    for v_check in 1..2 loop
      -- For history the jobs that ended lately matter too: their earlier attempts may stand in this day.
      select array_agg(job_id) into v_needed from (
        select job_id from holdfast.jobs_still_needed(v_from, v_to, v_now - p_completed) as n (job_id) limit p_carry + 1
      ) as needed;
      exit when cardinality(v_needed) > p_carry;
      -- The first look is free; what counts is the second one, under the lock.
      if v_check = 1 then
        execute format('lock table holdfast.%I in access exclusive mode', v_family);
      end if;
    end loop;
    continue when cardinality(v_needed) > p_carry;
    execute format('alter table holdfast.%I detach partition holdfast.%I', v_family, v_name);
    if v_family <> 'dead_letters' then
      execute format('insert into holdfast.%I select * from holdfast.%I where %I = any ($1)',
                     v_family, v_name, case v_family when 'bodies' then 'id' else 'job_id' end) using v_needed;
    end if;
    execute format('drop table holdfast.%I', v_name);
    return v_name;
  end loop;
  return null;
end 

function holdfast.end_leases(p_leases holdfast.leases[])
  returns TABLE(job_id uuid, type text, attempt smallint, worker_id integer, dead boolean), plpgsql, volatile, parallel unsafe
declare
  v_now timestamptz := holdfast.now();
begin
  return query
    with held as materialized (
      select l.id, l.worker_id, l.claimed_at, l.expires_at, h.job_id
      from unnest(p_leases) as l, unnest(l.jobs) as h (job_id) order by l.id, h.job_id
    ), lost as (
      delete from holdfast.queue as q using held as h where q.job_id = h.job_id and q.lease_id = h.id
      returning q.job_id, q.type_id, q.lane_id, q.priority, q.attempt, h.worker_id, h.claimed_at, h.expires_at
    ), judged as materialized (
      select l.*, l.attempt >= coalesce(b.max_attempts, l.attempt) as dead, jsonb_build_object(
        'name', 'LeaseExpired',
        'message', format('worker %s did not renew its lease, which ended at %s', l.worker_id, l.expires_at)
      ) as error
      from lost as l left join holdfast.bodies as b on b.id = l.job_id
    ), recorded as (
      insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, error)
      select j.job_id, v_now, j.claimed_at, j.worker_id, 'lease_expired', j.attempt, j.error from judged as j
    ), freed as (
      insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
      select v_now, j.job_id, j.type_id, j.lane_id, j.priority, j.attempt + 1 from judged as j where not j.dead
    ), buried as (
      insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
      select j.job_id, v_now, j.type_id, j.priority, j.attempt, 'exhausted', j.error from judged as j where j.dead
    )
    select j.job_id, t.name, j.attempt, j.worker_id, j.dead from judged as j join holdfast.types as t on t.id = j.type_id;
  delete from holdfast.leases as l where l.id = any (array(select e.id from unnest(p_leases) as e));
end 

function holdfast.enqueue(type text, payload jsonb, options jsonb DEFAULT '{}'::jsonb)
  returns TABLE(id uuid, status text), plpgsql, volatile, parallel unsafe
declare
  v_options constant jsonb := coalesce(options, '{}');
  v_asked record;
  v_number text;
  v_stands uuid;
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
  select e.job_id into v_stands from holdfast.enqueue_jobs(
    array[v_asked.id], array[type], array[payload::text], array[v_asked.priority], array[v_asked.max_attempts],
    array[v_asked.delay_ms], array[v_asked.run_at], array[v_asked.idempotency_key],
    v_options ->> 'id' is null, false, true) as e;
  return query select coalesce(v_stands, v_asked.id), case when v_stands is null then 'created' else 'existing' end;
end 

function holdfast.enqueue_jobs(p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[], p_delays_ms double precision[], p_run_ats timestamp with time zone[], p_keys text[], p_fresh boolean, p_keys_taken boolean, p_wake_always boolean)
  returns TABLE(place integer, job_id uuid), plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_taken boolean[] := array_fill(false, array[cardinality(p_ids)]);
  v_lanes smallint[];
  v_known integer[];
  v_asked integer;
  v_stand integer := 0;
begin
  perform holdfast.check_types(p_types);

  if not p_keys_taken and cardinality(array_remove(p_keys, null)) > 0 then
    for place, job_id in select * from holdfast.take_keys(p_ids, p_types, p_keys) loop
      v_taken[place] := true;
      v_stand := v_stand + 1;
      return next;
    end loop;
  end if;

  with asked as materialized (
    select a.place, a.id, t.id as type_id, t.lane_id, coalesce(a.priority, t.priority) as priority,
           coalesce(a.max_attempts, t.max_attempts) as max_attempts, a.payload, a.key,
           coalesce(a.run_at, v_now + a.delay_ms * interval '1 millisecond') as run_at
    from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, v_taken)
         with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, key, taken, place)
    join holdfast.types as t on t.name = a.type
    where not a.taken
  ), stored as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, payload)
    select id, type_id, priority, max_attempts, v_now, run_at, key, payload::json from asked where p_fresh
  ), stored_unless_known as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, payload)
    select id, type_id, priority, max_attempts, v_now, run_at, key, payload::json from asked where not p_fresh order by id
    on conflict do nothing
    returning id
  ), judged as materialized (
    select asked.*, p_fresh or id in (select id from stored_unless_known) as is_new from asked
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select v_now, id, type_id, lane_id, priority, 1 from judged
    where is_new and (run_at is null or run_at <= v_now) order by judged.place
  ), scheduled as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select id, run_at, type_id, lane_id, priority, 1, 'scheduled' from judged where is_new and run_at > v_now
  )
  -- A job due within moments wakes its lane too: a worker at rest looks at what waits only every two seconds.
  select array_agg(distinct lane_id) filter (where is_new and (run_at is null or run_at < v_now + interval '3 seconds')),
         array_agg(judged.place) filter (where not is_new), count(*)
  into v_lanes, v_known, v_asked from judged;

  -- Whatever the reason, a job that was not stored must not be acknowledged.
  if v_asked + v_stand <> cardinality(p_ids) then
    raise exception 'only % of % jobs could be stored', v_asked + v_stand, cardinality(p_ids) using errcode = 'XX000';
  end if;

  foreach place in array coalesce(v_known, '{}') loop
    job_id := p_ids[place];
    -- Taken above or just before, for a job that turned out to exist without it.
    delete from holdfast.idempotency_keys as k using holdfast.types as t
    where t.name = p_types[place] and k.type_id = t.id and k.key = p_keys[place] and k.job_id = p_ids[place];
    return next;
  end loop;

  perform holdfast.wake_lanes(v_lanes, p_wake_always);
end 

function holdfast.first_id_at(at timestamp with time zone)
  returns uuid, sql, immutable, parallel safe
 select (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid 

function holdfast.hand_back_unheard(p_worker integer, p_known bigint[])
  returns integer, plpgsql, volatile, parallel unsafe
  set enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_lease record;
  v_lanes smallint[];
  v_freed integer := 0;
begin
  for v_lease in
    delete from holdfast.leases as l where l.worker_id = p_worker and l.id <> all (p_known) returning l.id, l.jobs
  loop
    with freed as (
      update holdfast.queue as q set lease_id = null where q.job_id = any (v_lease.jobs) and q.lease_id = v_lease.id
      returning q.lane_id
    )
    select array_agg(distinct f.lane_id), v_freed + count(*) into v_lanes, v_freed from freed as f;
    perform holdfast.wake_lanes(v_lanes, true);
  end loop;
  return v_freed;
end 

function holdfast.head_rank(p_lane smallint, p_priority smallint, p_types integer[], p_after bigint, p_step interval)
  returns timestamp with time zone, plpgsql, volatile, parallel unsafe
begin
  return (
    select q.ready_at - p_priority * p_step from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p_priority and q.seq > p_after and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit 1
  );
end 

function holdfast.jobs_still_needed(p_from uuid, p_to uuid, p_since timestamp with time zone)
  returns SETOF uuid, sql, stable, parallel unsafe
  set enable_seqscan=off, jit=off
  select job_id from holdfast.queue where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.waiting where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.dead_letters where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.history where ended_at >= p_since and job_id >= p_from and job_id <= p_to

function holdfast.make_day(p_family text, p_day date)
  returns boolean, plpgsql, volatile, parallel unsafe
  set lock_timeout=100ms
declare
  v_from timestamptz := p_day::timestamp at time zone 'UTC';
  v_to timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
  v_column text := case p_family when 'bodies' then 'id' when 'history' then 'ended_at' else 'died_at' end;
  v_name text := p_family || '_' || to_char(p_day, 'YYYYMMDD');
  v_low text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_from)::text else v_from::text end);
  v_high text := quote_literal(case v_column when 'id' then holdfast.first_id_at(v_to)::text else v_to::text end);
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.days', 0)) or to_regclass('holdfast.' || v_name) is not null then
    return false;
  end if;
  execute format('create table holdfast.%I (like holdfast.%I including all)', v_name, p_family);
  execute format('with moved as (delete from holdfast.%I where %I >= %s and %I < %s returning *)
                  insert into holdfast.%I select * from moved',
                 p_family || '_rest', v_column, v_low, v_column, v_high, v_name);
  execute format('alter table holdfast.%I attach partition holdfast.%I for values from (%s) to (%s)',
                 p_family, v_name, v_low, v_high);
  return true;
end 

function holdfast.missing_days(p_ahead integer DEFAULT 3)
  returns TABLE(family text, day date), sql, stable, parallel unsafe
  select f.family, d.day
  from unnest(array['bodies', 'history', 'dead_letters']) as f (family)
  cross join (select ((holdfast.now() at time zone 'UTC')::date + n) as day from generate_series(0, p_ahead) as n) as d
  where to_regclass('holdfast.' || f.family || '_' || to_char(d.day, 'YYYYMMDD')) is null
  order by d.day, f.family

function holdfast.new_job_id()
  returns uuid, sql, volatile, parallel safe
  select (substr(t, 1, 12) || '7' || substr(r, 14, 3) || substr(r, 17, 16))::uuid
  from (select lpad(to_hex(floor(extract(epoch from holdfast.now()) * 1000)::bigint), 12, '0') as t,
               replace(gen_random_uuid()::text, '-', '') as r) as parts

function holdfast.now()
  returns timestamp with time zone, sql, volatile, parallel safe
select pg_catalog.clock_timestamp()

function holdfast.promote_due(p_limit integer, p_after timestamp with time zone)
  returns TABLE(promoted integer, read_to timestamp with time zone, next_in_ms double precision), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_sort=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_rows tid[];
  v_lanes smallint[];
begin
  select array_agg(due.ctid), max(due.due_at) into v_rows, read_to
  from (
    select w.ctid, w.due_at from holdfast.waiting as w
    where w.due_at >= p_after and w.due_at <= v_now
    order by w.due_at limit p_limit
    for update skip locked
  ) as due;
  promoted := coalesce(cardinality(v_rows), 0);
  if promoted > 0 then
    with moved as (
      delete from holdfast.waiting as w where w.ctid = any (v_rows)
      returning w.due_at, w.job_id, w.type_id, w.lane_id, w.priority, w.attempt
    ), queued as (
      insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
      select m.due_at, m.job_id, m.type_id, m.lane_id, m.priority, m.attempt from moved as m
    )
    select array_agg(distinct m.lane_id) into v_lanes from moved as m;
    perform holdfast.wake_lanes(v_lanes, false);
  end if;
  select extract(epoch from w.due_at - v_now) * 1000 into next_in_ms from holdfast.waiting as w
  where w.due_at >= coalesce(read_to, p_after) order by w.due_at limit 1;
  return next;
end 

function holdfast.read_options(p_options jsonb, OUT id uuid, OUT priority smallint, OUT max_attempts smallint, OUT delay_ms double precision, OUT run_at timestamp with time zone, OUT idempotency_key text)
  returns record, plpgsql, volatile, parallel unsafe
declare
  v_option text;
  v_problem text;
begin
  if jsonb_typeof(p_options) <> 'object' then
    raise exception 'the options are a JSON %, not an object', jsonb_typeof(p_options) using errcode = 'HF002';
  end if;
  select o.key into v_option from jsonb_object_keys(p_options) as o (key)
  where o.key not in ('id', 'priority', 'max_attempts', 'delay', 'run_at', 'idempotency_key') limit 1;
  if found then
    raise exception 'unknown option "%"', v_option using errcode = 'HF002',
      hint = 'The options are id, priority, max_attempts, delay, run_at and idempotency_key.';
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
    ('idempotency_key', length(idempotency_key) not between 1 and 500, 'it must have 1 to 500 characters')
  ) as wrong (name, is_wrong, rule) where wrong.is_wrong limit 1;
  if found then
    raise exception 'option % is %; %', v_option, left((p_options -> v_option)::text, 100), v_problem using errcode = 'HF002';
  end if;
  id := coalesce(id, holdfast.new_job_id());
end 

function holdfast.rescue_leases(p_limit integer, p_jobs integer)
  returns TABLE(job_id uuid, type text, attempt smallint, worker_id integer, dead boolean), plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_lease holdfast.leases;
  v_leases holdfast.leases[] := '{}';
  v_jobs integer := 0;
  v_lanes smallint[];
begin
  for v_lease in
    select l.* from holdfast.leases as l where l.expires_at < v_now order by l.expires_at limit p_limit for update skip locked
  loop
    v_leases := v_leases || v_lease;
    v_jobs := v_jobs + cardinality(v_lease.jobs);
    exit when v_jobs >= p_jobs;
  end loop;
  if cardinality(v_leases) = 0 then
    return;
  end if;

  begin
    return query select * from holdfast.end_leases(v_leases);
  exception
    when deadlock_detected or serialization_failure then
      raise;
    when others then
      foreach v_lease in array v_leases loop
        begin
          return query select * from holdfast.end_leases(array[v_lease]);
        exception when others then
          raise warning 'holdfast: lease % could not be rescued: %', v_lease.id, sqlerrm;
          perform holdfast.take_lease_apart(v_lease);
        end;
      end loop;
  end;
  select array_agg(l.id) into v_lanes from holdfast.lanes as l;
  perform holdfast.wake_lanes(v_lanes, true);
end 

function holdfast.settle_jobs(p_jobs uuid[], p_leases bigint[], p_moves text[], p_outcomes holdfast.outcome[], p_errors text[], p_started_ago_ms double precision[], p_ended_ago_ms double precision[], p_delays_ms double precision[], p_worker integer, p_closed bigint[])
  returns SETOF uuid, plpgsql, volatile, parallel unsafe
  set enable_seqscan=off, enable_bitmapscan=off, enable_hashjoin=off, enable_mergejoin=off, jit=off, plan_cache_mode=force_generic_plan
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_ended uuid[];
  v_ended_leases bigint[];
  v_freed smallint[];
  v_soon smallint[];
begin
  with settled as materialized (
    select s.job_id, s.lease_id, coalesce(s.move, 'complete') as move,
           case when s.move is null then 'completed' else s.outcome end as outcome, s.error, s.started_ago, s.ended_ago, s.delay
    from unnest(p_jobs, p_leases, p_moves, p_outcomes, p_errors, p_started_ago_ms, p_ended_ago_ms, p_delays_ms)
      as s (job_id, lease_id, move, outcome, error, started_ago, ended_ago, delay)
    order by s.lease_id, s.job_id
  ), ended as (
    delete from holdfast.queue as q using settled as s
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move <> 'hand_back'
    returning q.job_id, q.lease_id, q.type_id, q.lane_id, q.priority, q.attempt,
              s.move, s.outcome, s.error, s.started_ago, s.ended_ago, s.delay
  ), handed_back as (
    update holdfast.queue as q set lease_id = null from settled as s
    where q.job_id = s.job_id and q.lease_id = s.lease_id and s.move = 'hand_back'
    returning q.job_id, s.lease_id, q.lane_id, q.attempt, s.outcome, s.error, s.started_ago, s.ended_ago
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, error)
    select e.job_id, v_now - e.ended_ago * v_ms, v_now - e.started_ago * v_ms, p_worker, e.outcome, e.attempt, e.error::jsonb
    from ended as e
    union all
    select h.job_id, v_now - h.ended_ago * v_ms, v_now - h.started_ago * v_ms, p_worker, h.outcome, h.attempt, h.error::jsonb
    from handed_back as h where h.started_ago is not null
  ), retried as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select e.job_id, v_now + e.delay * v_ms, e.type_id, e.lane_id, e.priority,
           case e.move when 'retry' then e.attempt + 1 else e.attempt end,
           case e.move when 'retry' then 'failed' else 'scheduled' end
    from ended as e where e.move in ('retry', 'snooze')
  ), buried as (
    insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
    select e.job_id, v_now, e.type_id, e.priority, e.attempt,
           case e.move when 'die' then 'fatal' else 'exhausted' end, e.error::jsonb
    from ended as e where e.move in ('die', 'exhaust')
  )
  select array_agg(done.job_id), array_agg(done.lease_id),
         array_agg(distinct done.lane_id) filter (where done.free), array_agg(distinct done.lane_id) filter (where done.soon)
  into v_ended, v_ended_leases, v_freed, v_soon from (
    select e.job_id, e.lease_id, e.lane_id, false as free, coalesce(e.delay < 3000, false) as soon from ended as e
    union all
    select h.job_id, h.lease_id, h.lane_id, true, false from handed_back as h
  ) as done;
  perform holdfast.wake_lanes(v_freed, true);
  -- As in enqueue_jobs: this worker knows when the job is due, but it may have no room for it then.
  perform holdfast.wake_lanes(v_soon, false);

  if cardinality(p_closed) > 0 then
    delete from holdfast.leases where id = any (array(
      select l.id from holdfast.leases as l where l.id = any (p_closed) and l.worker_id = p_worker for update skip locked));
  end if;

  if coalesce(cardinality(v_ended), 0) < cardinality(p_jobs) then
    return query select lost.job_id from (
      select * from unnest(p_jobs, p_leases) as asked (job_id, lease_id)
      except select * from unnest(v_ended, v_ended_leases) as done (job_id, lease_id)
    ) as lost;
  end if;
end 

function holdfast.sweep_rest(p_completed interval, p_dead interval, p_limit integer DEFAULT 1000)
  returns integer, plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, jit=off
declare
  v_now timestamptz := holdfast.now();
  v_gone integer;
  v_total integer := 0;
begin
  delete from holdfast.dead_letters_rest where ctid = any (array(
    select d.ctid from holdfast.dead_letters_rest as d where d.died_at < v_now - p_dead limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.history_rest where ctid = any (array(
    select h.ctid from holdfast.history_rest as h
    where h.ended_at < v_now - p_completed
      and not exists (select from holdfast.jobs_still_needed(h.job_id, h.job_id, v_now - p_completed))
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.bodies_rest where ctid = any (array(
    select b.ctid from holdfast.bodies_rest as b
    where b.created_at < v_now - p_completed
      and not exists (select from holdfast.jobs_still_needed(b.id, b.id, v_now - p_completed))
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.idempotency_keys where ctid = any (array(
    select k.ctid from holdfast.idempotency_keys as k
    where k.job_id < holdfast.first_id_at(v_now - p_completed)
      and not exists (select from holdfast.bodies as b where b.id = k.job_id)
    limit p_limit));
  get diagnostics v_gone = row_count;
  v_total := v_total + v_gone;

  delete from holdfast.workers where seen_at < v_now - greatest(p_completed, p_dead);
  delete from holdfast.sleepers as s
  where not exists (select from holdfast.workers as w where w.id = s.worker_id and w.seen_at > v_now - interval '10 minutes');
  return v_total;
end 

function holdfast.take_keys(p_ids uuid[], p_types text[], p_keys text[])
  returns TABLE(place integer, job_id uuid), plpgsql, volatile, parallel unsafe
  set enable_hashjoin=off, enable_mergejoin=off, enable_seqscan=off, jit=off, plan_cache_mode=force_generic_plan
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
end 

function holdfast.take_lease_apart(p_lease holdfast.leases)
  returns void, plpgsql, volatile, parallel unsafe
begin
  if cardinality(p_lease.jobs) = 1 then
    update holdfast.leases as l set expires_at = holdfast.now() + interval '1 minute' where l.id = p_lease.id;
    return;
  end if;
  with parts as (
    insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
    select nextval('holdfast.lease_seq'), p_lease.worker_id, p_lease.claimed_at, p_lease.expires_at, array[j.id]
    from unnest(p_lease.jobs) as j (id)
    returning id, jobs[1] as job_id
  )
  update holdfast.queue as q set lease_id = p.id from parts as p where q.job_id = p.job_id and q.lease_id = p_lease.id;
  delete from holdfast.leases as l where l.id = p_lease.id;
end 

function holdfast.wake_lanes(p_lanes smallint[], p_always boolean)
  returns void, plpgsql, volatile, parallel unsafe
begin
  perform pg_notify('holdfast_lane_' || lane.id, '')
  from unnest(p_lanes) as lane (id)
  where p_always or exists (select from holdfast.sleepers as s where s.lane_id = lane.id);
end 

view holdfast.attempts
  job_id           uuid
  attempt          smallint
  outcome          holdfast.outcome
  started_at       timestamp with time zone
  ended_at         timestamp with time zone
  worker_id        integer
  worker           text
  error            jsonb
as
 SELECT h.job_id,
    h.attempt,
    h.outcome,
    h.started_at,
    h.ended_at,
    h.worker_id,
    w.name AS worker,
    h.error
   FROM holdfast.history h
     LEFT JOIN holdfast.workers w ON w.id = h.worker_id;

view holdfast.jobs
  id               uuid
  type             text
  status           text
  lane             text
  priority         smallint
  attempt          smallint
  max_attempts     smallint
  payload          json
  idempotency_key  text
  created_at       timestamp with time zone
  due_at           timestamp with time zone
  started_at       timestamp with time zone
  finished_at      timestamp with time zone
  worker_id        integer
  error            jsonb
as
 SELECT b.id,
    t.name AS type,
    s.status,
    l.name AS lane,
    COALESCE(s.priority, b.priority) AS priority,
    s.attempt,
    b.max_attempts,
    b.payload,
    b.idempotency_key,
    b.created_at,
    s.due_at,
    s.started_at,
    s.finished_at,
    s.worker_id,
    s.error
   FROM ( SELECT q.job_id,
                CASE
                    WHEN q.lease_id IS NULL THEN 'pending'::text
                    ELSE 'processing'::text
                END AS status,
            q.lane_id,
            q.priority,
            q.attempt,
            q.ready_at AS due_at,
            e.claimed_at AS started_at,
            NULL::timestamp with time zone AS finished_at,
            e.worker_id,
            NULL::jsonb AS error
           FROM holdfast.queue q
             LEFT JOIN holdfast.leases e ON e.id = q.lease_id
        UNION ALL
         SELECT w.job_id,
            w.status,
            w.lane_id,
            w.priority,
            w.attempt,
            w.due_at,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            NULL::integer,
            NULL::jsonb
           FROM holdfast.waiting w
        UNION ALL
         SELECT d.job_id,
            'dead'::text,
            NULL::smallint,
            d.priority,
            d.attempt,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            d.died_at,
            NULL::integer,
            d.error
           FROM holdfast.dead_letters d
        UNION ALL
         SELECT h.job_id,
            h.outcome::text AS outcome,
            NULL::smallint,
            NULL::smallint,
            h.attempt,
            NULL::timestamp with time zone,
            h.started_at,
            h.ended_at,
            h.worker_id,
            h.error
           FROM holdfast.history h
          WHERE h.outcome = ANY (ARRAY['completed'::holdfast.outcome, 'cancelled'::holdfast.outcome, 'discarded'::holdfast.outcome])) s
     JOIN holdfast.bodies b ON b.id = s.job_id
     JOIN holdfast.types t ON t.id = b.type_id
     JOIN holdfast.lanes l ON l.id = COALESCE(s.lane_id, t.lane_id);
