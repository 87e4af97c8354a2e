-- What is stored about a type, and what operators say of it: that counts, setting by setting, before what its definition says, until it is
-- released. A type can be defined so without any worker of it.

-- Whoever writes what a definition says, writes around what operators said.
create or replace function holdfast.keep_operators_word() returns trigger language plpgsql as $$
begin
  return jsonb_populate_record(new, holdfast.values_said(new.operator) - 'lane');
end $$;

create or replace trigger keep_operators_word before update on holdfast.types for each row when (new.operator is not null)
execute function holdfast.keep_operators_word();

-- Every stored setting of a type: for people, for the audit log, and to see what differs. No row: there is no such type.
create or replace function holdfast.type_settings(p_type text) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'lane', l.name, 'priority', t.priority, 'max_attempts', t.max_attempts, 'timeout_ms', t.timeout_ms, 'backoff', t.backoff,
    'approval', t.approval, 'uniqueness', t.uniqueness, 'sensitive', t.sensitive, 'encrypted', t.encrypted, 'redact', t.redact,
    'shared_keys', t.shared_keys, 'max_result_bytes', t.max_result_bytes, 'alert_expired', t.alert_expired, 'on_dead', t.on_dead, 'version', t.version,
    'searchable', t.searchable, 'payload_schema', t.payload_schema)
  from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id where t.name = p_type
$$;

-- Refuses to change what guards a type.
create or replace function holdfast.refuse_guards(p_type text, p_before jsonb, p_fields jsonb) returns void language plpgsql as $$
declare
  -- By the names that people know them by.
  v_guards constant text[] := array(
    select case n.key when 'uniqueness' then 'unique' when 'encrypted' then 'encrypt' else n.key end from jsonb_each(p_fields) as n (key, value)
    where n.key in ('approval', 'uniqueness', 'sensitive', 'encrypted', 'redact', 'shared_keys') and n.value is distinct from p_before -> n.key order by n.key);
begin
  if v_guards <> '{}' then
    raise exception '"%" is registered with another %, which guards it; to change that the key needs admin', p_type,
        array_to_string(v_guards, ' and ') using errcode = 'HF011', detail = v_guards[1], hint = 'Leave it out.';
  end if;
end $$;

-- Defines a type, or changes the named settings of one: the fields of type_settings but version, each as stored. Its lane is that of a new type;
-- set_type_lane moves a known one. p_guards: whether what guards a known type may change. Claims, settles and enqueues read
-- types and lock none, so that only other definitions wait here.
create or replace function holdfast.define_type(p_type text, p_fields jsonb, p_guards boolean, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_lane constant smallint := holdfast.lane_named(coalesce(p_fields ->> 'lane', 'default'));
  v_before jsonb;
begin
  if p_fields ->> 'on_dead' is not null then
    perform holdfast.check_types(array[p_fields ->> 'on_dead']);
  end if;
  -- Asked for first: an insert that finds its name taken has used up an id.
  if not exists (select from holdfast.types as t where t.name = p_type) then
    insert into holdfast.types (name, lane_id, defined_lane, searchable) values (p_type, v_lane, v_lane, nullif(p_fields -> 'searchable', 'null'))
    on conflict (name) do nothing;
    if not found then
      -- Somebody else has defined it a moment ago: then this is a change.
      perform holdfast.define_type(p_type, p_fields, p_guards, p_actor);
      return;
    end if;
  else
    perform from holdfast.types as t where t.name = p_type for update;
    v_before := holdfast.type_settings(p_type);
    if not p_guards then
      perform holdfast.refuse_guards(p_type, v_before, p_fields);
    end if;
  end if;
  update holdfast.types as t
  set defined = case when v_before is not null then coalesce(t.defined, v_before - 'version') end,
      operator = coalesce(t.operator, '{}') || holdfast.as_said(p_fields - 'lane', coalesce(p_actor.name, session_user), null)
        || case when v_before is null and p_fields ? 'lane'
                then holdfast.as_said(jsonb_build_object('lane', p_fields -> 'lane'), coalesce(p_actor.name, session_user), null) else '{}' end
  where t.name = p_type;
  update holdfast.types as t set operator = null where t.name = p_type and t.operator = '{}';
  perform holdfast.audit(case when v_before is null then 'define_type' else 'change_type' end, p_type, v_before, holdfast.type_settings(p_type), p_actor);
end $$;

-- Gives settings of a type back to its definition: those that are named, or with null all. Where no worker has ever defined it they become
-- what a new type has. p_guards: as in define_type. Its lane goes back too; the jobs that wait are brought by bring_strays.
create or replace function holdfast.release_type(p_type text, p_fields text[], p_guards boolean, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_type holdfast.types;
  v_released text[];
  v_before constant jsonb := holdfast.type_settings(p_type);
  v_code jsonb;
  v_back jsonb;
begin
  perform holdfast.check_types(array[p_type]);
  select * into v_type from holdfast.types as t where t.name = p_type for update;
  v_released := array(select k from jsonb_object_keys(v_type.operator) as k where p_fields is null or k = any (p_fields));
  v_code := jsonb '{"priority": 5, "max_attempts": 5, "timeout_ms": 300000, "sensitive": false, "encrypted": false, "shared_keys": false,
    "max_result_bytes": 65536, "alert_expired": false, "lane": "default"}' || coalesce(v_type.defined, '{}');
  v_back := (select coalesce(jsonb_object_agg(r, coalesce(v_code -> r, 'null')), '{}') from unnest(v_released) as r);
  if not p_guards then
    perform holdfast.refuse_guards(p_type, v_before, v_back);
  end if;
  if 'lane' = any (v_released) then
    perform holdfast.write_type_lane(v_type.id, holdfast.lane_named(v_code ->> 'lane'));
  end if;
  update holdfast.types as t
  set operator = nullif(t.operator - v_released, '{}'), defined = case when t.operator - v_released <> '{}' then t.defined end
  where t.id = v_type.id;
  perform holdfast.write_type(p_type, v_back);
  perform holdfast.audit('release_type', p_type, v_before, holdfast.type_settings(p_type), p_actor);
end $$;

-- Writes the named settings into the columns of a type. What operators said stays.
create or replace function holdfast.write_type(p_type text, p_fields jsonb) returns void language sql volatile as $$
  update holdfast.types as t set
    priority = coalesce((p_fields ->> 'priority')::smallint, t.priority),
    max_attempts = coalesce((p_fields ->> 'max_attempts')::smallint, t.max_attempts),
    timeout_ms = coalesce((p_fields ->> 'timeout_ms')::integer, t.timeout_ms),
    backoff = case when p_fields ? 'backoff' then nullif(p_fields -> 'backoff', 'null') else t.backoff end,
    approval = case when p_fields ? 'approval' then nullif(p_fields -> 'approval', 'null') else t.approval end,
    uniqueness = case when p_fields ? 'uniqueness' then nullif(p_fields -> 'uniqueness', 'null') else t.uniqueness end,
    sensitive = coalesce((p_fields ->> 'sensitive')::boolean, t.sensitive),
    encrypted = coalesce((p_fields ->> 'encrypted')::boolean, t.encrypted),
    redact = case when p_fields ? 'redact' then nullif(p_fields -> 'redact', 'null') else t.redact end,
    shared_keys = coalesce((p_fields ->> 'shared_keys')::boolean, t.shared_keys),
    max_result_bytes = coalesce((p_fields ->> 'max_result_bytes')::integer, t.max_result_bytes),
    alert_expired = coalesce((p_fields ->> 'alert_expired')::boolean, t.alert_expired),
    on_dead = case when p_fields ? 'on_dead' then p_fields ->> 'on_dead' else t.on_dead end,
    searchable = case when p_fields ? 'searchable' then nullif(p_fields -> 'searchable', 'null') else t.searchable end,
    payload_schema = case when p_fields ? 'payload_schema' then nullif(p_fields -> 'payload_schema', 'null') else t.payload_schema end
  where t.name = p_type
$$;
