-- Enqueues jobs that need nothing beyond what most jobs need, at a third of the cost of enqueue_jobs.

-- Stores one new job that is due at once. Where its type is plain and its keys are free, that is an insert for each key, two for the job and
-- a look for idle workers to notify, at a third of the cost of enqueue_jobs. Returns null where the job was simply created; else what
-- happened, and the id of the job that stands. Writes to queue itself, not through put_ready: nothing can hold such a job back.
-- p_unique, p_unique_key and p_check: as in enqueue_jobs.
create or replace function holdfast.enqueue_job(
  p_id uuid, p_type text, p_payload text, p_priority smallint, p_max_attempts smallint, p_concurrency_key text, p_wake_always boolean,
  p_owner text, p_trace text, p_version smallint default null, p_key text default null, p_unique text default null,
  p_unique_key text default null, p_check boolean default false) returns text language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_now timestamptz := holdfast.now();
  v_type record;
  v_unique holdfast.uniqueness;
  v_taken holdfast.uniques;
  v_key_taken boolean := false;
begin
  if p_concurrency_key is not null then
    perform pg_advisory_xact_lock_shared(holdfast.order_lock(p_type));
  end if;
  select t.id, t.lane_id, coalesce(p_priority, t.priority) as priority, coalesce(p_max_attempts, t.max_attempts) as max_attempts,
         not t.gated and t.approval is null and t.version = 1 and coalesce(p_version, 1) = 1 and not holdfast.may_be_behind() as plain,
         t.encrypted, p_check and t.payload_schema is not null as has_schema, t.searchable, coalesce(p_unique::jsonb, t.uniqueness) as uniqueness, holdfast.key_owner(t.shared_keys, p_owner) as key_owner
  into v_type from holdfast.types as t where t.name = p_type;
  if v_type.encrypted then
    perform holdfast.refuse_plaintext(array[p_type], array[p_payload]);
  end if;
  if v_type.has_schema then
    perform holdfast.refuse_unfit(array[p_id], array[p_type], array[p_payload], array[p_version]);
  end if;
  if v_type.plain and p_key is not null then
    insert into holdfast.idempotency_keys (type_id, owner, key, job_id) values (v_type.id, v_type.key_owner, p_key, p_id) on conflict do nothing;
    v_key_taken := found;
    v_type.plain := found;
  end if;
  if v_type.plain and v_type.uniqueness is not null then
    v_unique := holdfast.read_uniqueness(v_type.uniqueness);
    v_type.plain := v_unique.delay is null;
    if v_type.plain and v_unique.policy is not null then
      v_unique.key := holdfast.unique_key(v_type.uniqueness, p_unique_key, p_payload);
      v_taken := holdfast.take_unique(v_type.id, v_type.key_owner, v_unique.key, p_id, coalesce(v_unique.period, interval '0'));
      v_type.plain := v_taken.job_id is null;
    end if;
  end if;
  if v_type.plain is not true then
    return (select e.what || ' ' || e.job_id from holdfast.enqueue_jobs(
      array[p_id], array[p_type], array[p_payload], array[p_priority], array[p_max_attempts], '{}', '{}', array_remove(array[p_key], null),
      array[p_concurrency_key], true, v_key_taken, p_wake_always, p_traces => case when p_trace is not null then array[p_trace] end,
      p_owner => p_owner, p_versions => case when p_version is not null then array[p_version] end,
      p_uniques => case when p_unique is not null then array[p_unique] end,
      p_unique_keys => case when p_unique_key is not null then array[p_unique_key] end) as e);
  end if;
  insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, idempotency_key, concurrency_key, unique_key, traceparent, payload,
                               owner, search_keys)
  values (p_id, v_type.id, v_type.priority, v_type.max_attempts, v_now, p_key, p_concurrency_key, v_unique.key, p_trace, p_payload::json,
          p_owner, case when v_type.searchable is not null then holdfast.search_keys(v_type.searchable, p_payload::jsonb) end);
  insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
  values (v_now, p_id, v_type.id, v_type.lane_id, v_type.priority, 1);
  if p_wake_always then
    perform holdfast.wake_lanes(array[v_type.lane_id], true);
  elsif exists (select from holdfast.idle_workers as s where s.lane_id = v_type.lane_id) then
    perform holdfast.notify_idle(array[v_type.lane_id], array[v_type.id], null);
  end if;
  return null;
end $$;

-- What is given once for all jobs, for each of them.
create or replace function holdfast.one_for_each(p_given anyarray, p_ids uuid[]) returns anyarray language sql immutable
as $$ select case when cardinality(p_given) = 1 then array_fill(p_given[1], array[cardinality(p_ids)]) else p_given end $$;

-- The same for many, which may have keys, where all of those have been taken for them. Runs under the plan settings of enqueue_jobs. Two plain inserts, because sharing rows between them costs
-- more than reading the arrays twice, and arrays in the select list, because in the from clause their rows are copied first.
-- For the same reason it does not go through put_ready.
create or replace function holdfast.enqueue_all_plain(
  p_ids uuid[], p_types text[], p_payloads text[], p_priorities smallint[], p_max_attempts smallint[], p_concurrency_keys text[],
  p_wake_always boolean, p_traces text[], p_owner text, p_keys text[], p_unique_keys text[]
) returns void language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_type holdfast.types;
  v_type_ids integer[];
  v_lane_ids smallint[];
  -- Of each type, where any of them has paths to search by.
  v_searchable jsonb[];
  v_stored integer;
  v_queued integer;
begin
  if cardinality(p_types) = 1 then
    select * into v_type from holdfast.types as t where t.name = p_types[1];
    v_lane_ids := array[v_type.lane_id];
    v_searchable := case when v_type.searchable is not null then array_fill(v_type.searchable, array[cardinality(p_ids)]) end;
  else
    select array_agg(t.id order by a.ordinal), array_agg(t.lane_id order by a.ordinal),
           array_agg(coalesce(a.priority, t.priority) order by a.ordinal), array_agg(coalesce(a.max_attempts, t.max_attempts) order by a.ordinal),
           case when count(t.searchable) > 0 then array_agg(t.searchable order by a.ordinal) end
    into v_type_ids, v_lane_ids, p_priorities, p_max_attempts, v_searchable
    from unnest(p_types, p_priorities, p_max_attempts) with ordinality as a (type, priority, max_attempts, ordinal)
    left join holdfast.types as t on t.name = a.type;
  end if;
  insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, idempotency_key, concurrency_key, unique_key, traceparent, payload,
                               owner, search_keys)
  select a.id, coalesce(a.type_id, v_type.id), coalesce(a.priority, v_type.priority), coalesce(a.max_attempts, v_type.max_attempts),
         v_now, a.key, a.concurrency_key, a.unique_key, a.traceparent, a.payload::json, p_owner,
         case when a.searchable is not null then holdfast.search_keys(a.searchable, a.payload::jsonb) end
  from (select unnest(p_ids) as id, unnest(v_type_ids) as type_id, unnest(p_priorities) as priority,
               unnest(p_max_attempts) as max_attempts, unnest(p_keys) as key, unnest(p_concurrency_keys) as concurrency_key,
               unnest(p_unique_keys) as unique_key, unnest(v_searchable) as searchable,
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
