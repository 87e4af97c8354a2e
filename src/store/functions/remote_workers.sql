-- Workers in any language, through the HTTP server. Servers keep nothing in memory that matters, so what such a worker
-- is, and what decides about its results, stands here.

-- Removes leases of a worker under which nothing runs any more. One that somebody else has locked is left to run out empty.
create or replace function holdfast.close_empty_leases(p_worker integer, p_leases bigint[]) returns void
language sql volatile
set enable_seqscan = off set jit = off
as $$
  delete from holdfast.leases where id = any (array(
    select l.id from holdfast.leases as l
    where l.id = any (p_leases) and l.worker_id = p_worker
      and not exists (select from holdfast.queue as q where q.job_id = any (l.jobs) and q.lease_id = l.id)
      and not exists (select from holdfast.cancellations as c where c.lease_id = l.id)
    for update skip locked))
$$;

-- What a registration over HTTP may name of a type: for the audit log, and to see what differs.
create or replace function holdfast.type_facts(p_type text) returns jsonb language sql stable as $$
  select jsonb_build_object('lane', l.name, 'sensitive', t.sensitive, 'priority', t.priority, 'max_attempts', t.max_attempts,
                            'timeout_ms', t.timeout_ms, 'backoff', t.backoff, 'max_result_bytes', t.max_result_bytes, 'payload_schema', t.payload_schema, 'version', t.version,
                            'uses', holdfast.used_names(t.id))
  from holdfast.types as t join holdfast.lanes as l on l.id = coalesce(t.defined_lane, t.lane_id) where t.name = p_type
$$;

-- Makes types known that a remote worker defines: [{"type", "lane", "priority", "max_attempts", "timeout_ms", "sensitive",
-- "backoff", "max_result_bytes", "payload_schema", "uses", "version"}], each with what it names alone; the version of payloads is for new types (know_versions). Of a type that is known, what is not named stays as it is, and so does what guards
-- it, whoever asks: its approval, uniqueness, limits, encryption and redaction cannot be named at all, and a lane or sensitive
-- that differs is refused. The rest changes where p_may says that the key may do that. Every change has its line in the audit log.
-- Takes types in the order of their names, as registerTypes does. What a known type uses is only compared here: define_uses changes it, which
-- has to begin without a lock.
create or replace function holdfast.register_remote_types(p_types jsonb, p_may boolean, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_type text;
  v_named jsonb;
  v_place text;
  v_lane smallint;
  v_known jsonb;
  v_differs text[];
  v_guards text[];
  v_version smallint;
begin
  perform holdfast.make_dependencies(array(
    select n.name from jsonb_array_elements(p_types) as d (one), jsonb_array_elements_text(d.one -> 'uses') as n (name)));
  for v_type, v_named, v_place in
    select d.one ->> 'type', d.one - 'type', format('types[%s].', d.one ->> 'index')
    from jsonb_array_elements(p_types) as d (one) order by 1, (d.one ->> 'index')::integer
  loop
    v_named := v_named - 'index';
    if v_named ? 'lane' then
      v_lane := holdfast.lane_named(v_named ->> 'lane');
    else
      v_lane := holdfast.lane_named('default');
    end if;
    insert into holdfast.types (name, lane_id, defined_lane, priority, max_attempts, timeout_ms, sensitive, backoff, max_result_bytes, version,
                                payload_schema)
    select v_type, v_lane, v_lane, coalesce((v_named ->> 'priority')::smallint, 5), coalesce((v_named ->> 'max_attempts')::smallint, 5),
           coalesce((v_named ->> 'timeout_ms')::integer, 300000), coalesce((v_named ->> 'sensitive')::boolean, false), v_named -> 'backoff',
           coalesce((v_named ->> 'max_result_bytes')::integer, 65536), coalesce((v_named ->> 'version')::smallint, 1), v_named -> 'payload_schema'
    -- Asked for first: an insert that finds its name taken has used up an id.
    where not exists (select from holdfast.types as t where t.name = v_type)
    on conflict (name) do nothing;
    if found then
      if jsonb_array_length(v_named -> 'uses') > 0 then
        -- No job of it can run yet, so nothing has to be counted. It is gated until somebody looks: a limit may be set at this moment.
        insert into holdfast.gates (type_id, uses)
        select t.id, holdfast.dependency_ids(v_named -> 'uses') from holdfast.types as t where t.name = v_type;
        update holdfast.types as t set gated = true where t.name = v_type;
      end if;
      perform holdfast.audit('define_type', v_type, null, holdfast.type_facts(v_type), p_actor);
      continue;
    end if;
    v_version := case when v_named ? 'payload_schema' then (v_named ->> 'version')::smallint end;
    v_named := v_named - 'version';
    perform from holdfast.types as t where t.name = v_type for update;
    -- What an operator said is no difference between what two workers say.
    v_known := holdfast.type_facts(v_type) || coalesce((
      select jsonb_object_agg(c.key, c.value) from holdfast.types as t cross join jsonb_each(t.defined) as c where t.name = v_type and t.operator ? c.key), '{}');
    v_differs := array(select n.key from jsonb_each(v_named) as n (key, value) where n.value is distinct from v_known -> n.key
                       order by array_position('{lane,sensitive,max_attempts,timeout_ms,priority,backoff,max_result_bytes,payload_schema,uses}', n.key));
    v_guards := array(select d from unnest(v_differs) as d where d in ('lane', 'sensitive'));
    if v_guards <> '{}' then
      raise exception '"%" is registered with another %; a worker cannot change that', v_type, array_to_string(v_guards, ' and ')
        using errcode = 'HF010', detail = v_place || v_guards[1],
          hint = format('Leave it out, or send the registered value: %s.', (select jsonb_object_agg(g, v_known -> g) from unnest(v_guards) as g));
    elsif v_differs <> '{}' and not p_may then
      raise exception '"%" is registered with other values of %; to change them the key needs types:manage', v_type,
          replace(array_to_string(v_differs, ', '), 'timeout_ms', 'timeout')
        using errcode = 'HF011', detail = v_place || replace(v_differs[1], 'timeout_ms', 'timeout'), hint = 'Send only the name of the type.';
    elsif v_differs <> '{}' then
      update holdfast.types as t set
        priority = coalesce((v_named ->> 'priority')::smallint, t.priority),
        max_attempts = coalesce((v_named ->> 'max_attempts')::smallint, t.max_attempts),
        timeout_ms = coalesce((v_named ->> 'timeout_ms')::integer, t.timeout_ms),
        backoff = coalesce(v_named -> 'backoff', t.backoff),
        max_result_bytes = coalesce((v_named ->> 'max_result_bytes')::integer, t.max_result_bytes),
        payload_schema = coalesce(v_named -> 'payload_schema', t.payload_schema), version = greatest(t.version, v_version),
        defined = case when t.operator is not null then coalesce(t.defined, '{}') || (v_named - 'uses') end
      where t.name = v_type;
      perform holdfast.audit('change_type', v_type, v_known, holdfast.type_facts(v_type), p_actor);
    end if;
  end loop;
end $$;

-- Notes which versions of payloads a remote worker knows of types that are registered. A newer one than any worker knew before counts for every
-- job from then on, those that are enqueued without a version too, so it is a change of the type. The stored schema
-- was that of older ones, and goes. Takes types in the order of their names.
create or replace function holdfast.know_versions(p_types text[], p_versions smallint[], p_may boolean, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_type text;
  v_version smallint;
  v_known smallint;
begin
  for v_type, v_version, v_known in
    select k.type, k.version, t.version from unnest(p_types, p_versions) as k (type, version) join holdfast.types as t on t.name = k.type
    where k.version > t.version order by k.type
  loop
    if not p_may then
      raise exception '"%" is registered with version % of its payloads; to register version % the key needs types:manage', v_type, v_known, v_version
        using errcode = 'HF011', detail = 'payload_versions.' || v_type,
          hint = 'Register it once where the database is, with registerTypes and update: true or a worker there.';
    end if;
    update holdfast.types as t set version = v_version, payload_schema = null where t.name = v_type and t.version < v_version;
    if found then
      perform holdfast.audit('change_type', v_type, jsonb_build_object('version', v_known), jsonb_build_object('version', v_version), p_actor);
    end if;
  end loop;
end $$;
