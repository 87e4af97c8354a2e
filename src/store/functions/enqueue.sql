-- Step 1 of a job's way (src/README.md). The SDK, the HTTP server and plain SQL all enqueue through enqueue_jobs.

-- Stores jobs, all or none. The arrays stand side by side, one element a job; a null element means the type's default. One
-- type alone is that of all jobs. p_fresh: the ids were made for this call, so none can exist yet. Otherwise an id that exists
-- answers as existing, or is refused where that is another job; one whose first transaction is still open is waited for.
-- p_keys_taken: take_keys has been asked for these jobs, in this transaction. p_traces: the trace of each; null where none has one. p_tags: the
-- tags of each as the text of an array; null where none has any.
-- p_approvals: what each enqueue asks for beyond its type. p_uniques: each job's uniqueness in the form of enqueue's option
-- "unique", false for none; null where no job has any. p_unique_keys: the fields "key" of those, where they stand beside them, so that
-- what all jobs of a call share is read once, and may be given once. An array in which every element is null may be empty instead.
-- p_owner: the service whose jobs these are, and whose keys they take; null: the application's own.
-- p_start_bys, p_expire_ins_ms: until when each has to have started, as a time or as milliseconds from now; null where none has to.
-- p_versions: the version of each payload, or one for all; null: the newest that the type has.
-- p_check: whether nobody has checked the payloads against the definitions of their types, so that their stored schemas decide.
-- p_webhooks: where requests about each go, {"url", "kinds", "secrets"}; null where none has one.
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
  p_start_bys timestamptz[] default null, p_expire_ins_ms double precision[] default null, p_versions smallint[] default null,
  p_unique_keys text[] default null, p_webhooks jsonb[] default null, p_check boolean default false
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
  v_schema boolean;
  v_met record;
  v_meeting integer[];
  v_unique_keys text[];
  v_unique_delays double precision[];
  v_ready holdfast.ready[];
  v_behind constant boolean := holdfast.may_be_behind();
  -- The jobs that stand for these ones with what they ask for; null where an earlier one stays as it was.
  v_standing uuid[] := p_ids;
begin
  if cardinality(array_remove(p_concurrency_keys, null)) > 0 then
    perform holdfast.hold_order(p_types);
  end if;
  v_plain := p_fresh and not v_behind and cardinality(p_delays_ms) = 0 and cardinality(p_run_ats) = 0
    and p_approvals is null and p_tags is null and p_start_bys is null and p_expire_ins_ms is null
    and p_webhooks is null and (p_versions is null or 1 = all (p_versions));
  select c.has_unique or p_uniques is not null, v_plain and c.all_plain, c.any_encrypted, c.any_schema into v_unique, v_plain, v_encrypted, v_schema
  from holdfast.check_types(p_types) as c;
  if v_encrypted then
    perform holdfast.refuse_plaintext(p_types, p_payloads);
  end if;
  if p_check and v_schema then
    perform holdfast.refuse_unfit(p_ids, p_types, p_payloads, p_versions);
  end if;
  if not p_keys_taken and cardinality(array_remove(p_keys, null)) > 0 then
    for ordinal, job_id in select * from holdfast.take_keys(p_ids, p_types, p_keys, p_owner) loop
      v_plain := false;
      v_taken[ordinal] := true;
      v_standing[ordinal] := null;
      what := 'existing';
      return next;
    end loop;
  end if;
  if not v_plain then
    p_types := holdfast.one_for_each(p_types, p_ids);
    p_versions := holdfast.one_for_each(p_versions, p_ids);
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
    p_uniques := holdfast.one_for_each(p_uniques, p_ids);
    select u.keys, u.delays_ms, u.met into v_unique_keys, v_unique_delays, v_meeting
    from holdfast.take_uniques(p_ids, p_types, p_payloads, p_uniques, p_unique_keys, v_taken, p_owner) as u;
  end if;
  if v_plain and v_unique_delays is null and v_meeting is null then
    perform holdfast.enqueue_all_plain(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_concurrency_keys, p_wake_always, p_traces,
                                       p_owner, p_keys, v_unique_keys);
    return;
  end if;
  if v_plain then
    p_types := holdfast.one_for_each(p_types, p_ids);
    p_versions := holdfast.one_for_each(p_versions, p_ids);
  end if;
  if v_unique_delays is not null and exists (
    select from unnest(v_unique_delays, p_delays_ms, p_run_ats) as a (own, delay_ms, run_at)
    where a.own is not null and (a.delay_ms is not null or a.run_at is not null)) then
    raise exception 'delay or run_at and unique.delay exclude each other' using errcode = 'HF002';
  end if;
  if v_meeting is not null then
    for v_met in
      select * from holdfast.meet_uniques(p_ids, p_types, p_payloads, p_priorities, p_max_attempts, p_delays_ms, p_run_ats, p_keys,
                                          p_concurrency_keys, p_approvals, p_uniques, v_unique_keys, v_meeting, p_wake_always, p_owner)
    loop
      v_taken[v_met.ordinal] := v_met.stored;
      v_standing[v_met.ordinal] := case when v_met.what <> 'existing' then v_met.job_id end;
      if v_met.what in ('replaced', 'debounced') then
        delete from holdfast.start_deadlines as d where d.job_id = v_met.job_id;
      end if;
      if v_met.stored and v_met.what <> 'existing' then
        update holdfast.bodies as b set version = nullif(coalesce(p_versions[v_met.ordinal], t.version), 1) from holdfast.types as t
        where b.id = v_met.job_id and t.id = b.type_id and b.version is distinct from nullif(coalesce(p_versions[v_met.ordinal], t.version), 1);
      end if;
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
  if v_unique_delays is not null then
    p_delays_ms := array(select coalesce(a.own, a.delay_ms) from unnest(v_unique_delays, p_delays_ms) with ordinality as a (own, delay_ms, nth)
                         order by a.nth);
  end if;

  with asked as materialized (
    select a.ordinal, a.id, t.id as type_id, t.lane_id, coalesce(a.priority, t.priority) as priority,
           coalesce(a.max_attempts, t.max_attempts) as max_attempts, a.payload, a.key, a.concurrency_key, a.unique_key, a.traceparent, a.tags::text[] as tags,
           nullif(coalesce(a.version, t.version), 1) as version,
           case when t.searchable is not null then holdfast.search_keys(t.searchable, a.payload::jsonb) end as search_keys,
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
                                 owner, tags, version, position, search_keys)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, unique_key, traceparent, payload::json, p_owner, tags, version, position,
           search_keys
    from asked where p_fresh
  ), stored_unless_known as (
    insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, idempotency_key, concurrency_key, unique_key, traceparent, payload,
                                 owner, tags, version, position, search_keys)
    select id, type_id, priority, max_attempts, v_now, run_at, key, concurrency_key, unique_key, traceparent, payload::json, p_owner, tags, version, position,
           search_keys
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
  if p_webhooks is not null then
    perform holdfast.set_webhooks(v_standing, p_webhooks);
  end if;
  perform holdfast.wake_lanes(v_lanes, p_wake_always);
end $$;
