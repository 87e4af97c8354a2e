-- Why: of jobs that are one and the same only one is wanted at a time. What happens to the second is decided here, in the
-- transaction that enqueues it, so that the SDK, the HTTP server and plain SQL agree.
-- Lock: none. Cost: milliseconds. Old workers: none. Back: drop the functions.

create type holdfast.uniqueness as (
  key text, policy text, period interval, states text[], delay interval, max_wait interval
);

-- Where a job that has not ended stands, and its status. One statement, one snapshot: a job that is just moving from one
-- table to another is found in one of them, never in none. No row: it has ended, or there is none.
create function holdfast.whereabouts(p_job uuid) returns table (place text, status text)
language sql stable
set enable_seqscan = off set jit = off
as $$
  select 'queue', case when q.lease_id is null then 'pending' else 'processing' end from holdfast.queue as q where q.job_id = p_job
  union all select 'waiting', w.status from holdfast.waiting as w where w.job_id = p_job
  union all select 'gated', 'pending' from holdfast.gated as g where g.job_id = p_job
  union all select 'following', 'pending' from holdfast.following as f where f.job_id = p_job
$$;

-- The status of a job, ended or not; null where nothing of it is kept.
create function holdfast.status_of(p_job uuid) returns text
language sql stable
set enable_seqscan = off set jit = off
as $$
  select coalesce(
    (select w.status from holdfast.whereabouts(p_job) as w),
    (select 'dead' from holdfast.dead_letters as d where d.job_id = p_job limit 1),
    (select h.outcome::text from holdfast.history as h
     where h.job_id = p_job and h.outcome in ('completed', 'cancelled', 'discarded') limit 1))
$$;

-- Locks a job that waits, wherever that is, so that it can neither start nor move before this transaction ends. Claims and
-- promotions pass over it meanwhile. No row: it runs or has ended.
create function holdfast.hold_still(p_job uuid) returns table (place text, status text)
language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  loop
    select w.place, w.status into place, status from holdfast.whereabouts(p_job) as w;
    if not found or status = 'processing' then
      return;
    end if;
    case place
      when 'queue' then perform from holdfast.queue as q where q.job_id = p_job and q.lease_id is null for update;
      when 'waiting' then perform from holdfast.waiting as w where w.job_id = p_job for update;
      when 'gated' then perform from holdfast.gated as g where g.job_id = p_job for update;
      when 'following' then perform from holdfast.following as f where f.job_id = p_job for update;
    end case;
    if found then
      return next;
      return;
    end if;
    -- It moved on between the two looks.
  end loop;
end $$;

-- Reads a uniqueness in the form of enqueue's option "unique", and makes the key for a payload. All null where it is none.
-- A key made from a payload is a digest of the jsonb text, which knows no order of properties.
create function holdfast.read_uniqueness(p_given jsonb, p_payload jsonb) returns holdfast.uniqueness
language plpgsql as $$
declare
  v_known constant text[] := '{key,by,period,states,on_conflict,delay,max_wait}';
  v_policies constant text[] := '{reject,existing,replace,debounce,one_more}';
  v_waits constant text[] := '{awaiting_approval,scheduled,pending,failed}';
  v_statuses constant text[] := v_waits || '{processing,completed,cancelled,dead,discarded}'::text[];
  v_read holdfast.uniqueness;
  v_by jsonb := coalesce(p_given -> 'by', '"payload"');
  v_chosen jsonb := '{}';
  v_field text;
  v_value jsonb;
  v_wrong text;
begin
  if p_given is null or p_given = 'false' then
    return v_read;
  end if;
  if jsonb_typeof(p_given) <> 'object' then
    raise exception 'unique must be false or an object' using errcode = 'HF002';
  end if;
  select k into v_wrong from jsonb_object_keys(p_given) as k where not k = any (v_known) limit 1;
  if v_wrong is not null then
    raise exception 'unknown field "unique.%"', v_wrong using errcode = 'HF002',
      hint = format('The fields are %s.', array_to_string(v_known, ', '));
  end if;
  select k into v_wrong from unnest('{key,period,on_conflict,delay,max_wait}'::text[]) as k
  where jsonb_typeof(p_given -> k) <> 'string' limit 1;
  if v_wrong is not null then
    raise exception 'unique.% must be a text', v_wrong using errcode = 'HF002', hint = 'Durations are texts such as "5 minutes".';
  end if;
  if jsonb_typeof(p_given -> 'states') <> 'array' then
    raise exception 'unique.states must be a list' using errcode = 'HF002';
  end if;
  v_read.policy := coalesce(p_given ->> 'on_conflict', 'reject');
  v_read.period := p_given ->> 'period';
  v_read.delay := p_given ->> 'delay';
  v_read.max_wait := p_given ->> 'max_wait';
  v_read.states := case when p_given ? 'states' then array(select jsonb_array_elements_text(p_given -> 'states'))
                        when v_read.policy in ('replace', 'debounce') then v_waits else v_waits || 'processing'::text end;
  v_wrong := case
    when not v_read.policy = any (v_policies)
      then format('on_conflict is "%s"; it can be %s', v_read.policy, array_to_string(v_policies, ', '))
    when not v_read.states <@ v_statuses or v_read.states = '{}' then 'states has no status, or one that does not exist'
    when p_given ? 'states' and v_read.policy = 'one_more' then 'states has no meaning for one_more'
    when p_given ? 'key' and p_given ? 'by' then 'key and by exclude each other'
    when p_given ? 'key' and length(p_given ->> 'key') not between 1 and 500 then 'key must have 1 to 500 characters'
    when v_read.period <= interval '0' or v_read.delay <= interval '0' then 'period and delay must be longer than nothing'
    when v_read.period is not null and v_read.policy in ('debounce', 'one_more')
      then format('period has no meaning for %s', v_read.policy)
    when v_read.policy = 'debounce' and v_read.delay is null then 'debounce needs a delay'
    when v_read.policy <> 'debounce' and (v_read.delay is not null or v_read.max_wait is not null)
      then 'delay and max_wait are for debounce'
    when v_read.max_wait < v_read.delay then 'max_wait is shorter than delay'
  end;
  if v_wrong is not null then
    raise exception 'unique: %', v_wrong using errcode = 'HF002';
  end if;

  if p_given ? 'key' then
    v_read.key := 'key ' || (p_given ->> 'key');
  elsif v_by = '"payload"' then
    v_read.key := 'payload ' || encode(sha256(convert_to(p_payload::text, 'UTF8')), 'hex');
  elsif jsonb_typeof(v_by) = 'array' and jsonb_array_length(v_by) > 0 then
    for v_field in select jsonb_array_elements_text(v_by) loop
      -- A property may have a dot in its name.
      v_value := coalesce(p_payload -> v_field, p_payload #> string_to_array(v_field, '.'));
      if v_value is null then
        raise exception 'unique.by names "%", which is not in the payload', v_field using errcode = 'HF002';
      end if;
      v_chosen := v_chosen || jsonb_build_object(v_field, v_value);
    end loop;
    v_read.key := 'fields ' || encode(sha256(convert_to(v_chosen::text, 'UTF8')), 'hex');
  else
    raise exception 'unique.by must be "payload" or a list of fields' using errcode = 'HF002';
  end if;
  return v_read;
end $$;

-- Takes the unique keys that are free, and decides what becomes of the jobs whose key is not. The arrays are those of
-- enqueue_jobs. stored: nothing is left to be written for this job. delay_ms: it is to be created with that delay.
-- Goes in key order, so that two calls with the same keys cannot deadlock. A key whose first transaction is still open
-- is waited for, and taken if that transaction rolls back. Row by row: only unique jobs pay for it.
create function holdfast.take_uniques(
  p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[],
  p_delays_ms double precision[], p_run_ats timestamptz[], p_keys text[], p_concurrency_keys text[], p_uniques text[],
  p_taken boolean[], p_wake_always boolean
) returns table (place integer, job_id uuid, what text, stored boolean, delay_ms double precision)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_job record;
  v_taken holdfast.uniques;
  v_new boolean;
begin
  for v_job in
    select a.place, a.id, a.type, a.payload, a.idempotency_key, a.concurrency_key, a.priority as asked_priority,
           a.max_attempts as asked_max_attempts, a.delay_ms as asked_delay_ms, a.run_at as asked_run_at,
           coalesce(a.priority, t.priority) as priority, coalesce(a.max_attempts, t.max_attempts) as max_attempts,
           coalesce(a.run_at, v_now + a.delay_ms * v_ms) as due_at, t.id as type_id, t.lane_id,
           u.key, u.policy, u.period, u.states, u.delay, u.max_wait, count(*) over (partition by t.id, u.key) > 1 as repeated
    from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, p_concurrency_keys,
                p_uniques, p_taken)
         with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, idempotency_key, concurrency_key,
                               given, taken, place)
    join holdfast.types as t on t.name = a.type
    cross join lateral holdfast.read_uniqueness(coalesce(a.given::jsonb, t.uniqueness), a.payload::jsonb) as u
    where not a.taken and u.policy is not null
    order by t.id, u.key, a.place
  loop
    if v_job.delay is not null and v_job.due_at is not null then
      raise exception 'delay or run_at and unique.delay exclude each other' using errcode = 'HF002';
    end if;
    place := v_job.place;
    job_id := v_job.id;
    what := 'created';
    stored := false;
    delay_ms := extract(epoch from v_job.delay) * 1000;
    loop
      insert into holdfast.uniques (type_id, key, job_id, taken_at, kept_until)
      values (v_job.type_id, v_job.key, v_job.id, v_now, v_now + coalesce(v_job.period, interval '0')) on conflict do nothing;
      v_new := found;
      exit when v_new;
      select * into v_taken from holdfast.uniques as u where u.type_id = v_job.type_id and u.key = v_job.key for update;
      exit when found;
    end loop;
    if not v_new then
      select m.job_id, m.what into job_id, what from holdfast.meet_standing(
        v_taken, (v_job.key, v_job.policy, v_job.period, v_job.states, v_job.delay, v_job.max_wait)::holdfast.uniqueness,
        v_job.id, v_job.payload, v_job.priority, v_job.max_attempts, v_job.concurrency_key, v_job.due_at, v_job.lane_id,
        p_wake_always) as m;
    end if;

    if what = 'created' and v_job.repeated then
      -- The next job of this key has to find this one, so it cannot wait to be written with the others.
      perform holdfast.enqueue_jobs(
        array[v_job.id], array[v_job.type], array[v_job.payload], array[v_job.asked_priority], array[v_job.asked_max_attempts],
        array[coalesce(delay_ms, v_job.asked_delay_ms)], array[v_job.asked_run_at], array[null::text],
        array[v_job.concurrency_key], true, p_wake_always, array['false']);
      stored := true;
    elsif what = 'queued_behind' then
      insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, concurrency_key, payload)
      values (v_job.id, v_job.type_id, v_job.priority, v_job.max_attempts, v_now, v_job.due_at, v_job.concurrency_key,
              v_job.payload::json);
      stored := true;
    elsif what <> 'created' then
      stored := true;
      -- Its idempotency key was taken for a job that will not exist.
      update holdfast.idempotency_keys as k set job_id = take_uniques.job_id
      where k.type_id = v_job.type_id and k.key = v_job.idempotency_key;
    end if;
    if stored and job_id = v_job.id and v_job.idempotency_key is not null then
      update holdfast.bodies as b set idempotency_key = v_job.idempotency_key where b.id = v_job.id;
    end if;
    return next;
  end loop;
end $$;

-- Decides what becomes of a job whose key was taken before, and does it, except for creating the job. Runs under the lock
-- of the key's row. What it decides by is what the standing job is now; where that job must stay so until this transaction
-- ends, it is locked, and where it has moved on meanwhile, it is looked at again.
create function holdfast.meet_standing(
  p_taken holdfast.uniques, p_unique holdfast.uniqueness, p_id uuid, p_payload text, p_priority smallint,
  p_max_attempts smallint, p_concurrency_key text, p_due timestamptz, p_lane smallint, p_wake_always boolean
) returns table (job_id uuid, what text)
language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_first uuid;
  v_next uuid;
  v_first_is text;
  v_next_is text;
  v_target uuid;
  v_held record;
  v_ended constant text[] := '{completed,cancelled,dead,discarded}';
begin
  loop
    v_first := p_taken.job_id;
    v_next := p_taken.next_job_id;
    v_first_is := holdfast.status_of(v_first);
    v_next_is := holdfast.status_of(v_next);
    if v_next is not null and coalesce(v_first_is, 'completed') = any (v_ended) then
      v_first := v_next;
      v_first_is := v_next_is;
      v_next := null;
    elsif coalesce(v_next_is, 'completed') = any (v_ended) then
      v_next := null;
    end if;
    if v_next is null then
      v_next_is := null;
    end if;

    if p_unique.policy in ('reject', 'existing') then
      job_id := case when v_first_is = any (p_unique.states) then v_first when v_next_is = any (p_unique.states) then v_next
                     when p_taken.taken_at + p_unique.period > v_now then coalesce(v_next, v_first) end;
      if job_id is not null and p_unique.policy = 'reject' then
        raise exception 'job % stands for this unique key', job_id using errcode = 'HF409', detail = job_id::text;
      end if;
      what := 'existing';
      exit;
    elsif p_unique.policy = 'one_more' and v_next_is is null and v_first_is = 'processing' then
      insert into holdfast.following (job_id, follows, due_at, type_id, lane_id, priority)
      values (p_id, v_first, coalesce(p_due, v_now), p_taken.type_id, p_lane, p_priority);
      update holdfast.uniques as u set job_id = v_first, next_job_id = p_id
      where u.type_id = p_taken.type_id and u.key = p_taken.key;
      job_id := p_id;
      what := 'queued_behind';
      return next;
      return;
    end if;

    v_target := case when v_next_is = any (p_unique.states) then v_next when v_first_is = any (p_unique.states) then v_first end;
    if v_target is null then
      job_id := case when p_taken.taken_at + p_unique.period > v_now then v_first end;
      what := 'existing';
      exit;
    end if;
    if p_unique.policy = 'replace' and p_due > v_now then
      -- It may have to give up its slot. The gate is locked before the job, as everywhere.
      perform from holdfast.gates as g where g.type_id = p_taken.type_id for update;
    end if;
    select * into v_held from holdfast.hold_still(v_target);
    if found then
      job_id := v_target;
      if p_unique.policy = 'one_more' and v_held.place <> 'following' then
        -- It starts after this transaction, so it is one more already.
        what := 'existing';
      else
        what := case p_unique.policy when 'debounce' then 'debounced' else 'replaced' end;
        perform holdfast.renew_job(
          v_target, v_held.place, p_payload, p_priority, p_max_attempts, p_concurrency_key,
          case when p_unique.policy <> 'debounce' then coalesce(p_due, v_now)
               when v_held.place = 'waiting' and v_held.status = 'scheduled'
                 then least(v_now + p_unique.delay, greatest(p_taken.taken_at + p_unique.max_wait, v_now)) end,
          p_wake_always);
      end if;
      exit;
    elsif p_unique.policy <> 'one_more' and holdfast.status_of(v_target) = any (p_unique.states)
          and holdfast.status_of(v_target) = any (v_ended || 'processing'::text) then
      -- It cannot be changed any more, and the caller counts it.
      job_id := v_target;
      what := 'existing';
      exit;
    end if;
  end loop;

  if job_id is null then
    update holdfast.uniques as u
    set job_id = p_id, next_job_id = null, taken_at = v_now, kept_until = v_now + coalesce(p_unique.period, interval '0')
    where u.type_id = p_taken.type_id and u.key = p_taken.key;
    job_id := p_id;
    what := 'created';
  end if;
  return next;
end $$;

-- Gives a job that waits, and is held still, a new body; and a new time, where p_due says one. It keeps its place in line
-- as long as it stays due: a key that is replaced again and again must run some time.
create function holdfast.renew_job(
  p_job uuid, p_place text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text,
  p_due timestamptz, p_wake_always boolean
) returns void
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_lane smallint;
  v_type integer;
  v_attempt smallint;
  v_pass smallint;
begin
  update holdfast.bodies as b
  set payload = p_payload::json, priority = p_priority, max_attempts = p_max_attempts, concurrency_key = p_concurrency_key,
      run_at = case when p_due > v_now then p_due when p_due is not null then null else b.run_at end
  where b.id = p_job;
  if p_place = 'following' then
    update holdfast.following as f set priority = p_priority, due_at = coalesce(p_due, f.due_at) where f.job_id = p_job;
  elsif p_place = 'waiting' then
    update holdfast.waiting as w set priority = p_priority, due_at = coalesce(p_due, w.due_at) where w.job_id = p_job
    returning case when w.due_at < v_now + interval '3 seconds' then w.lane_id end into v_lane;
    perform holdfast.wake_lanes(array_remove(array[v_lane], null), p_wake_always);
  elsif p_due > v_now then
    with from_queue as (
      delete from holdfast.queue as q where q.job_id = p_job returning q.type_id, q.lane_id, q.attempt, q.pass
    ), from_gate as (
      delete from holdfast.gated as g where g.job_id = p_job returning g.type_id, g.lane_id, g.attempt, 0::smallint
    )
    select * into v_type, v_lane, v_attempt, v_pass from (select * from from_queue union all select * from from_gate) as moved;
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    values (p_job, p_due, v_type, v_lane, p_priority, v_attempt, 'scheduled');
    if v_pass > 0 then
      perform holdfast.free_slots(array[p_job], array[p_job]);
    end if;
  elsif p_place = 'queue' then
    update holdfast.queue as q set priority = p_priority where q.job_id = p_job and q.priority <> p_priority;
  else
    update holdfast.gated as g
    set priority = p_priority, rank = g.ready_at - p_priority * l.ageing, concurrency_key = coalesce(p_concurrency_key, '')
    from holdfast.lanes as l where g.job_id = p_job and l.id = g.lane_id returning g.type_id into v_type;
    insert into holdfast.arrivals (type_id, concurrency_key) values (v_type, coalesce(p_concurrency_key, ''));
  end if;
end $$;

-- Makes the jobs due that wait behind these, where these have ended; a job that waits for its next attempt has not.
-- A follower that is being replaced at this moment is passed over: check_leader sees to it when that is committed.
create function holdfast.start_followers(p_leaders uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_jobs uuid[] := array(
    select f.job_id from holdfast.following as f
    where f.follows = any (p_leaders) and not exists (select from holdfast.whereabouts(f.follows))
    order by f.job_id for update skip locked);
  v_lanes smallint[];
begin
  if v_jobs = '{}' then
    return;
  end if;
  with freed as (
    delete from holdfast.following as f where f.job_id = any (v_jobs)
    returning f.job_id, f.due_at, f.type_id, f.lane_id, f.priority
  ), due as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
    select f.job_id, greatest(f.due_at, v_now), f.type_id, f.lane_id, f.priority, 1, 'scheduled' from freed as f
  )
  select array_agg(distinct f.lane_id) into v_lanes from freed as f;
  perform holdfast.wake_lanes(v_lanes, true);
end $$;

-- When a follower is about to be committed: makes sure that whoever ends its leader will see it, by locking the leader's
-- row for the rest of the commit, or starts it where the leader has ended. Locking it earlier would let a producer's long
-- transaction hold up a worker's settling. It never waits for a lock: where somebody holds the leader's row this very
-- moment, the follower is marked unsure and the next promotion looks after it.
create function holdfast.check_leader() returns trigger
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_place text := (select w.place from holdfast.whereabouts(new.follows) as w);
begin
  case v_place
    when 'queue' then perform from holdfast.queue as q where q.job_id = new.follows for update skip locked;
    when 'waiting' then perform from holdfast.waiting as w where w.job_id = new.follows for update skip locked;
    when 'gated' then perform from holdfast.gated as g where g.job_id = new.follows for update skip locked;
    else
      perform holdfast.start_followers(array[new.follows]);
      return null;
  end case;
  if not found then
    update holdfast.following as f set unsure = true where f.job_id = new.job_id;
    perform holdfast.wake_lanes(array[new.lane_id], true);
  end if;
  return null;
end $$;

create constraint trigger check_leader after insert or update on holdfast.following
  deferrable initially deferred for each row when (not new.unsure) execute function holdfast.check_leader();
