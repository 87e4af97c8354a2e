-- What is stored about a type, and how an operator defines one without a worker. A worker's definition replaces all of it when it starts.

-- Every stored setting of a type: for people, for the audit log, and to see what differs. No row: there is no such type.
create or replace function holdfast.type_settings(p_type text) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'lane', l.name, 'priority', t.priority, 'max_attempts', t.max_attempts, 'timeout_ms', t.timeout_ms, 'backoff', t.backoff,
    'approval', t.approval, 'uniqueness', t.uniqueness, 'sensitive', t.sensitive, 'encrypted', t.encrypted, 'redact', t.redact,
    'shared_keys', t.shared_keys, 'max_result_bytes', t.max_result_bytes, 'alert_expired', t.alert_expired, 'on_dead', t.on_dead, 'version', t.version)
  from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id where t.name = p_type
$$;

-- Defines a type, or changes the named settings of one: the fields of type_settings but version, each as stored. Its lane is that of a new type;
-- set_type_lane moves a known one. p_guards: whether what guards a known type may change. Claims, settles and enqueues read
-- types and lock none, so that only other definitions wait here.
create or replace function holdfast.define_type(p_type text, p_fields jsonb, p_guards boolean, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_lane constant smallint := holdfast.lane_named(coalesce(p_fields ->> 'lane', 'default'));
  v_before jsonb;
  v_guards text[];
begin
  if p_fields ->> 'on_dead' is not null then
    perform holdfast.check_types(array[p_fields ->> 'on_dead']);
  end if;
  -- Asked for first: an insert that finds its name taken has used up an id.
  if not exists (select from holdfast.types as t where t.name = p_type) then
    insert into holdfast.types (name, lane_id, defined_lane) values (p_type, v_lane, v_lane) on conflict (name) do nothing;
    if not found then
      -- Somebody else has defined it a moment ago: then this is a change.
      perform holdfast.define_type(p_type, p_fields, p_guards, p_actor);
      return;
    end if;
  else
    perform from holdfast.types as t where t.name = p_type for update;
    v_before := holdfast.type_settings(p_type);
    -- By the names that people know them by.
    v_guards := array(select case n.key when 'uniqueness' then 'unique' when 'encrypted' then 'encrypt' else n.key end from jsonb_each(p_fields) as n (key, value)
                      where n.key in ('approval', 'uniqueness', 'sensitive', 'encrypted', 'redact', 'shared_keys')
                        and n.value is distinct from v_before -> n.key order by n.key);
    if v_guards <> '{}' and not p_guards then
      raise exception '"%" is registered with another %, which guards it; to change that the key needs admin', p_type,
          array_to_string(v_guards, ' and ') using errcode = 'HF011', detail = v_guards[1], hint = 'Leave it out.';
    end if;
  end if;
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
    on_dead = case when p_fields ? 'on_dead' then p_fields ->> 'on_dead' else t.on_dead end
  where t.name = p_type;
  perform holdfast.audit(case when v_before is null then 'define_type' else 'change_type' end, p_type, v_before, holdfast.type_settings(p_type), p_actor);
end $$;
