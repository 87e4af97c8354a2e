-- Of jobs that are one and the same only one is wanted at a time. What happens to the second is decided here, in the
-- transaction that enqueues it, so that the SDK, the HTTP server and plain SQL agree.

-- Reads a uniqueness in the form of enqueue's option "unique", except for its key, in which alone most jobs of a call differ: so a call
-- reads what they share once. All null where it is none.
create or replace function holdfast.read_uniqueness(p_given jsonb) returns holdfast.uniqueness
language plpgsql as $$
declare
  v_known constant text[] := '{key,by,period,states,on_conflict,delay,max_wait}';
  v_policies constant text[] := '{reject,existing,replace,debounce,one_more}';
  v_waits constant text[] := '{awaiting_approval,scheduled,pending,failed,blocked}';
  v_statuses constant text[] := v_waits || '{processing,completed,cancelled,dead,discarded}'::text[];
  v_times constant text[] := '{period,delay,max_wait}';
  v_read holdfast.uniqueness;
  v_bare boolean;
  v_wrong text;
  v_longest constant interval := interval '1825 days';
begin
  if p_given is null or p_given = 'false' then
    return v_read;
  end if;
  if jsonb_typeof(p_given) <> 'object' then
    raise exception 'unique must be false or an object' using errcode = 'HF002';
  end if;
  if p_given - v_known <> '{}' then
    raise exception 'unknown field "unique.%"', (select k from jsonb_object_keys(p_given - v_known) as k limit 1) using errcode = 'HF002',
      hint = format('The fields are %s.', array_to_string(v_known, ', '));
  end if;
  if 'string' <> any (array[jsonb_typeof(p_given -> 'on_conflict'), jsonb_typeof(p_given -> 'period'), jsonb_typeof(p_given -> 'delay'),
                            jsonb_typeof(p_given -> 'max_wait')]) then
    raise exception 'unique.% must be a text', (select k from jsonb_each(p_given - '{key,by,states}'::text[]) as e (k, v)
                                                where jsonb_typeof(v) <> 'string' limit 1)
      using errcode = 'HF002', hint = 'Durations are texts such as "5 minutes".';
  end if;
  v_read.policy := coalesce(p_given ->> 'on_conflict', 'reject');
  -- Of what most leave out nothing is read: that is half of what this takes.
  if p_given ?| v_times then
    begin
      v_wrong := 'period';
      v_read.period := p_given ->> v_wrong;
      v_wrong := 'delay';
      v_read.delay := p_given ->> v_wrong;
      v_wrong := 'max_wait';
      v_read.max_wait := p_given ->> v_wrong;
    exception when data_exception then
      raise exception 'unique.% cannot be %: %', v_wrong, p_given -> v_wrong, sqlerrm using errcode = 'HF002';
    end;
    -- A bare number is seconds to PostgreSQL and milliseconds to the SDK, so it is nobody's.
    v_bare := exists (select from unnest(v_times) as k where p_given ->> k ~ '^[-+ \d.]*$');
  end if;
  v_read.states := case when v_read.policy in ('replace', 'debounce') then v_waits else v_waits || 'processing'::text end;
  if p_given ? 'states' then
    if jsonb_typeof(p_given -> 'states') <> 'array' then
      raise exception 'unique.states must be a list' using errcode = 'HF002';
    end if;
    v_read.states := array(select jsonb_array_elements_text(p_given -> 'states'));
  end if;
  v_wrong := case
    when not v_read.policy = any (v_policies)
      then format('on_conflict is "%s"; it can be %s', v_read.policy, array_to_string(v_policies, ', '))
    when not v_read.states <@ v_statuses or v_read.states = '{}' then 'states has no status, or one that does not exist'
    when p_given ? 'states' and v_read.policy = 'one_more' then 'states has no meaning for one_more'
    when v_read.period <= interval '0' or v_read.delay <= interval '0' then 'period and delay must be longer than nothing'
    when v_read.period > v_longest or v_read.delay > v_longest or v_read.max_wait > v_longest
      then 'period, delay and max_wait must be at most five years (1825 days)'
    when v_bare then 'period, delay and max_wait must have a unit, such as "5 minutes" or "90s"'
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

  return v_read;
end $$;

-- The key that a uniqueness makes for a payload. p_key: its field "key", where that stands beside it. One made from a payload is a digest of the jsonb text, which knows no order of properties.
create or replace function holdfast.unique_key(p_given jsonb, p_key text, p_payload text) returns text language plpgsql as $$
declare
  v_by jsonb;
  v_payload jsonb;
  v_chosen jsonb := '{}';
  v_field text;
  v_value jsonb;
  v_wrong text;
begin
  if p_key is null and p_given ? 'key' then
    p_key := p_given ->> 'key';
    v_wrong := case when jsonb_typeof(p_given -> 'key') <> 'string' then 'key must be a text' end;
  end if;
  if p_key is not null or v_wrong is not null then
    v_wrong := case when v_wrong is not null then v_wrong
                    when p_given ? 'by' then 'key and by exclude each other'
                    when length(p_key) not between 1 and 500 then 'key must have 1 to 500 characters' end;
    if v_wrong is not null then
      raise exception 'unique: %', v_wrong using errcode = 'HF002';
    end if;
    return 'key ' || p_key;
  end if;
  v_by := coalesce(p_given -> 'by', '"payload"');
  v_payload := p_payload;
  if v_by = '"payload"' then
    return 'payload ' || encode(sha256(convert_to(v_payload::text, 'UTF8')), 'hex');
  elsif jsonb_typeof(v_by) = 'array' and jsonb_array_length(v_by) > 0 then
    for v_field in select jsonb_array_elements_text(v_by) loop
      -- A property may have a dot in its name.
      v_value := coalesce(v_payload -> v_field, v_payload #> string_to_array(v_field, '.'));
      if v_value is null then
        raise exception 'unique.by names "%", which is not in the payload', v_field using errcode = 'HF002';
      end if;
      v_chosen := v_chosen || jsonb_build_object(v_field, v_value);
    end loop;
    return 'fields ' || encode(sha256(convert_to(v_chosen::text, 'UTF8')), 'hex');
  end if;
  raise exception 'unique.by must be "payload" or a list of fields' using errcode = 'HF002';
end $$;

-- Takes the unique keys that are free, all in one statement. The arrays are those of enqueue_jobs. keys: the key of each job, null where
-- it has none. delays_ms: after how long each is due by its uniqueness; null where none says. met: the indexes of the jobs whose key was
-- not free, for which meet_uniques decides; null where there are none.
-- Goes in key order, so that two calls with the same keys cannot deadlock; of two jobs of a call with one key the first gets it. A key
-- whose first transaction is still open is waited for, and taken if that transaction rolls back.
create or replace function holdfast.take_uniques(
  p_ids uuid[], p_types text[], p_payloads text[], p_uniques text[], p_unique_keys text[], p_taken boolean[], p_owner text,
  out keys text[], out delays_ms double precision[], out met integer[]
) language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
begin
  with alike as (
    select t.id as type_id, holdfast.key_owner(t.shared_keys, p_owner) as owner,
           case when not a.taken then coalesce(a.given::jsonb, t.uniqueness) end as options,
           array_agg(a.ordinal) as ordinals, array_agg(a.id) as ids, array_agg(a.payload) as payloads, array_agg(a.key) as keys
    from unnest(p_ids, p_types, p_payloads, p_uniques, p_unique_keys, p_taken) with ordinality as a (id, type, payload, given, key, taken, ordinal)
    join holdfast.types as t on t.name = coalesce(a.type, p_types[1])
    group by t.id, a.taken, a.given
  ), wanted as materialized (
    select a.ordinal, a.id, g.type_id, g.owner, u.period, u.delay,
           case when u.policy is not null then holdfast.unique_key(g.options, a.key, a.payload) end as key
    from alike as g cross join lateral holdfast.read_uniqueness(g.options) as u
    cross join lateral unnest(g.ordinals, g.ids, g.payloads, g.keys) as a (ordinal, id, payload, key)
  ), free as (
    insert into holdfast.uniques (type_id, owner, key, job_id, taken_at, kept_until)
    select w.type_id, w.owner, w.key, w.id, v_now, v_now + coalesce(w.period, interval '0') from wanted as w where w.key is not null
    order by w.type_id, w.key collate "C", w.ordinal
    on conflict do nothing returning job_id
  )
  select array_agg(w.key order by w.ordinal),
         case when count(w.delay) > 0 then array_agg(extract(epoch from w.delay) * 1000 order by w.ordinal) end,
         array_agg(w.ordinal) filter (where w.key is not null and w.id not in (select f.job_id from free as f))
  into keys, delays_ms, met from wanted as w;
end $$;

-- Decides what becomes of jobs whose unique key is taken, and locks it. The arrays are those of enqueue_jobs; p_unique_keys and p_met are
-- from take_uniques. stored: nothing is left to be written for this job. Row by row, in key order: only jobs that meet another one pay
-- for it, and the first of a call that the next one of the same call meets.
create or replace function holdfast.meet_uniques(
  p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[],
  p_delays_ms double precision[], p_run_ats timestamptz[], p_keys text[], p_concurrency_keys text[], p_approvals jsonb[],
  p_uniques text[], p_unique_keys text[], p_met integer[], p_wake_always boolean, p_owner text
) returns table (ordinal integer, job_id uuid, what text, stored boolean)
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_ms constant interval := interval '1 millisecond';
  v_job record;
  v_taken holdfast.uniques;
begin
  for v_job in
    select a.ordinal, a.id, a.type, a.payload, a.idempotency_key, a.concurrency_key, a.priority as asked_priority,
           a.max_attempts as asked_max_attempts, a.delay_ms as asked_delay_ms, a.run_at as asked_run_at,
           coalesce(a.priority, t.priority) as priority, coalesce(a.max_attempts, t.max_attempts) as max_attempts,
           coalesce(a.run_at, v_now + a.delay_ms * v_ms) as due_at, t.id as type_id, t.lane_id,
           holdfast.key_owner(t.shared_keys, p_owner) as owner, a.approval as asked_approval, holdfast.approval_rule(t.approval, a.approval) as approval,
           a.key, u.policy, u.period, u.states, u.delay, u.max_wait, a.repeated, a.met
    from (
      select a.*, count(*) over (partition by a.type, a.key) > 1 as repeated, a.ordinal in (select unnest(p_met)) as met
      from unnest(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys, p_concurrency_keys,
                  p_approvals, p_uniques, p_unique_keys)
           with ordinality as a (id, type, payload, priority, max_attempts, delay_ms, run_at, idempotency_key, concurrency_key,
                                 approval, given, key, ordinal)
      where a.key is not null
    ) as a
    join holdfast.types as t on t.name = a.type
    cross join lateral holdfast.read_uniqueness(coalesce(a.given::jsonb, t.uniqueness)) as u
    where a.met or a.repeated
    order by t.id, a.key collate "C", a.ordinal
  loop
    ordinal := v_job.ordinal;
    job_id := v_job.id;
    what := 'created';
    stored := false;
    v_taken := null;
    if v_job.met then
      v_taken := holdfast.take_unique(v_job.type_id, v_job.owner, v_job.key, v_job.id, coalesce(v_job.period, interval '0'));
    end if;
    if v_taken.job_id is not null and exists (select from holdfast.bodies as b where b.id = v_job.id) then
      -- What this call waited for was its own first try, whose answer the caller did not get: no other job is in the way.
      perform holdfast.refuse_other_job(v_job.id, v_job.type, v_job.payload, p_owner);
      what := 'existing';
    elsif v_taken.job_id is not null then
      select m.job_id, m.what into job_id, what from holdfast.resolve_conflict(
        v_taken, (v_job.key, v_job.policy, v_job.period, v_job.states, v_job.delay, v_job.max_wait)::holdfast.uniqueness,
        v_job.id, v_job.payload, v_job.priority, v_job.max_attempts, v_job.concurrency_key, v_job.approval, v_job.due_at,
        v_job.lane_id, p_wake_always, p_owner) as m;
    end if;

    if what = 'created' and v_job.repeated then
      -- The next job of this key has to find this one, so it cannot wait to be written with the others.
      perform holdfast.enqueue_jobs(
        array[v_job.id], array[v_job.type], array[v_job.payload], array[v_job.asked_priority], array[v_job.asked_max_attempts],
        array[coalesce(extract(epoch from v_job.delay) * 1000, v_job.asked_delay_ms)], array[v_job.asked_run_at], array[null::text],
        array[v_job.concurrency_key], true, true, p_wake_always, array[v_job.asked_approval], array['false'],
        p_owner => p_owner);
      stored := true;
    elsif what = 'queued_behind' then
      insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, concurrency_key, unique_key, payload,
                                   owner, position, search_keys)
      values (v_job.id, v_job.type_id, v_job.priority, v_job.max_attempts, v_now, v_job.due_at, v_job.concurrency_key, v_job.key,
              v_job.payload::json, p_owner, holdfast.next_position(v_job.type_id, v_job.concurrency_key),
              (select holdfast.search_keys(t.searchable, v_job.payload::jsonb) from holdfast.types as t where t.id = v_job.type_id and t.searchable is not null));
      perform holdfast.follow_key(v_job.id);
      if v_job.approval is not null then
        -- It is asked for when the job in front has ended.
        insert into holdfast.approval_requests (job_id, quorum, deadline, on_deadline, run_at)
        values (v_job.id, (v_job.approval ->> 'quorum')::smallint,
                v_now + (v_job.approval ->> 'deadline_ms')::double precision * v_ms, v_job.approval ->> 'on_deadline', v_job.due_at);
      end if;
      stored := true;
    elsif what <> 'created' then
      stored := true;
      -- Its idempotency key was taken for a job that will not exist.
      update holdfast.idempotency_keys as k set job_id = meet_uniques.job_id
      where k.type_id = v_job.type_id and k.key = v_job.idempotency_key and k.owner = v_job.owner;
    end if;
    if stored and job_id = v_job.id and (what = 'created' or v_job.idempotency_key is not null) then
      update holdfast.bodies as b set idempotency_key = v_job.idempotency_key, unique_key = v_job.key where b.id = v_job.id;
    end if;
    return next;
  end loop;
end $$;

-- Takes a unique key for a job where it is free, and answers with nothing; or locks its row and answers with that. A key whose
-- first transaction is still open is waited for. Only a sweep removes rows, so a second try finds the row or makes it.
create or replace function holdfast.take_unique(p_type integer, p_owner text, p_key text, p_job uuid, p_period interval) returns holdfast.uniques
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_taken holdfast.uniques;
begin
  for v_try in 1..100 loop
    insert into holdfast.uniques (type_id, owner, key, job_id, taken_at, kept_until)
    values (p_type, p_owner, p_key, p_job, v_now, v_now + p_period) on conflict do nothing;
    if found then
      return null;
    end if;
    select * into v_taken from holdfast.uniques as u where u.type_id = p_type and u.key = p_key and u.owner = p_owner for update;
    if found then
      return v_taken;
    end if;
  end loop;
  raise exception 'a unique key was taken and released a hundred times while this job tried to take it' using errcode = '40001', hint = 'Try again.';
end $$;
