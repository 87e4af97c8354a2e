-- Payloads that come by the name of a type, from SQL, over HTTP or from a process without its definition, are checked here against the JSON
-- Schema that the definition stored. What is not checked here, the worker checks with the definition itself.

-- The first problem of a value with a JSON Schema, as {"path", "problem"}; null: it fits, or what is left of the schema is nothing known here. Known
-- are type, const, enum, required, properties, additionalProperties, items, prefixItems, minItems, maxItems, minimum, maximum, exclusiveMinimum,
-- exclusiveMaximum, minLength, maxLength, pattern (pattern_says), anyOf, oneOf, allOf, not, and $ref to what is in the same schema.
-- p_budget: how many looks at one value are left. Alternatives share it, so that no schema takes for ever: where it is used up, all fits.
create or replace function holdfast.schema_problem(
  p_schema jsonb, p_value jsonb, p_root jsonb default null, p_path jsonb default '[]', p_budget integer default 100000
) returns jsonb language plpgsql stable as $$
declare
  v_root constant jsonb := coalesce(p_root, p_schema);
  v_kind constant text := jsonb_typeof(p_value);
  v_types constant jsonb := case jsonb_typeof(p_schema -> 'type') when 'string' then jsonb_build_array(p_schema -> 'type') when 'array' then p_schema -> 'type' end;
  v_number numeric;
  v_count integer;
  v_part jsonb;
  v_problem jsonb;
  v_key text;
begin
  if p_schema = 'false' then
    return jsonb_build_object('path', p_path, 'problem', 'is not allowed');
  elsif jsonb_typeof(p_schema) is distinct from 'object' or p_budget < 1 then
    return null;
  end if;
  if v_types is not null and not (v_types ? v_kind)
     and not (v_kind = 'number' and v_types ? 'integer' and trunc((p_value #>> '{}')::numeric) = (p_value #>> '{}')::numeric) then
    return jsonb_build_object('path', p_path, 'problem',
      format('must be %s, and is %s', (select string_agg(t, ' or ') from jsonb_array_elements_text(v_types) as t), v_kind));
  end if;
  if p_schema ? 'const' and p_schema -> 'const' <> p_value then
    return jsonb_build_object('path', p_path, 'problem', 'must be ' || left((p_schema -> 'const')::text, 200));
  end if;
  if jsonb_typeof(p_schema -> 'enum') = 'array' and not exists (select from jsonb_array_elements(p_schema -> 'enum') as e (one) where e.one = p_value) then
    return jsonb_build_object('path', p_path, 'problem', 'must be one of ' || left((p_schema -> 'enum')::text, 500));
  end if;

  if v_kind = 'number' then
    v_number := (p_value #>> '{}')::numeric;
    select r.rule into v_key from (values
      ('minimum', v_number < holdfast.number_said(p_schema -> 'minimum'), 'must be at least '),
      ('maximum', v_number > holdfast.number_said(p_schema -> 'maximum'), 'must be at most '),
      ('exclusiveMinimum', v_number <= holdfast.number_said(p_schema -> 'exclusiveMinimum'), 'must be above '),
      ('exclusiveMaximum', v_number >= holdfast.number_said(p_schema -> 'exclusiveMaximum'), 'must be below ')
    ) as w (name, is_wrong, words) cross join lateral (select w.words || (p_schema ->> w.name)) as r (rule) where w.is_wrong limit 1;
  elsif v_kind = 'string' then
    v_count := char_length(p_value #>> '{}');
    v_key := case
      -- Libraries of JavaScript count a character beyond U+FFFF as two: what either count allows fits.
      when v_count < holdfast.number_said(p_schema -> 'minLength')
        and v_count + length(regexp_replace(p_value #>> '{}', '[^\U00010000-\U0010FFFF]', '', 'g')) < holdfast.number_said(p_schema -> 'minLength') then format('must have at least %s characters', p_schema -> 'minLength')
      when v_count > holdfast.number_said(p_schema -> 'maxLength') then format('must have at most %s characters', p_schema -> 'maxLength')
      when jsonb_typeof(p_schema -> 'pattern') = 'string' and not holdfast.pattern_says(p_schema ->> 'pattern', p_value #>> '{}') then 'must match ' || (p_schema ->> 'pattern') end;
  elsif v_kind = 'array' then
    v_count := jsonb_array_length(p_value);
    v_key := case
      when v_count < holdfast.number_said(p_schema -> 'minItems') then format('must have at least %s items', p_schema -> 'minItems')
      when v_count > holdfast.number_said(p_schema -> 'maxItems') then format('must have at most %s items', p_schema -> 'maxItems') end;
  elsif v_kind = 'object' and jsonb_typeof(p_schema -> 'required') = 'array' then
    select r.name into v_key from jsonb_array_elements_text(p_schema -> 'required') as r (name) where not p_value ? r.name limit 1;
    if found then
      return jsonb_build_object('path', p_path || to_jsonb(v_key), 'problem', 'is missing');
    end if;
  end if;
  if v_key is not null then
    return jsonb_build_object('path', p_path, 'problem', v_key);
  end if;

  if v_kind = 'object' and (p_schema ? 'properties' or p_schema ? 'additionalProperties') then
    for v_key, v_part in select f.key, f.value from jsonb_each(p_value) as f loop
      v_problem := case
        when p_schema -> 'properties' ? v_key then
          holdfast.schema_problem(p_schema -> 'properties' -> v_key, v_part, v_root, p_path || to_jsonb(v_key), p_budget - 1)
        when p_schema -> 'additionalProperties' = 'false' and not p_schema ? 'patternProperties' then
          jsonb_build_object('path', p_path || to_jsonb(v_key), 'problem', 'is not a known field')
        when p_schema ? 'additionalProperties' and not p_schema ? 'patternProperties' then
          holdfast.schema_problem(p_schema -> 'additionalProperties', v_part, v_root, p_path || to_jsonb(v_key), p_budget - 1) end;
      if v_problem is not null then
        return v_problem;
      end if;
    end loop;
  elsif v_kind = 'array' and (p_schema ? 'items' or p_schema ? 'prefixItems') then
    for v_count, v_part in select e.ordinal - 1, e.one from jsonb_array_elements(p_value) with ordinality as e (one, ordinal) loop
      v_problem := holdfast.schema_problem(coalesce(p_schema -> 'prefixItems' -> v_count, p_schema -> 'items'), v_part, v_root,
        p_path || to_jsonb(v_count), p_budget - 1);
      if v_problem is not null then
        return v_problem;
      end if;
    end loop;
  end if;

  if p_schema ->> '$ref' like '#%' then
    v_part := v_root #> array(select replace(replace(s, '~1', '/'), '~0', '~') from unnest((string_to_array(p_schema ->> '$ref', '/'))[2:]) as s);
    v_problem := holdfast.schema_problem(v_part, p_value, v_root, p_path, least(p_budget - 1000, p_budget * 9 / 10));
    if v_problem is not null then
      return v_problem;
    end if;
  end if;
  return holdfast.alternatives_problem(p_schema, p_value, v_root, p_path, p_budget);
end $$;

-- The same for what a schema says by other schemas. That a value must not fit, or fit one alone, can be said only of schemas that are known in full.
create or replace function holdfast.alternatives_problem(p_schema jsonb, p_value jsonb, p_root jsonb, p_path jsonb, p_budget integer)
returns jsonb language plpgsql stable as $$
declare
  v_word text;
  v_many integer;
  v_fits integer;
  v_one jsonb;
  v_problem jsonb;
begin
  foreach v_word in array array['allOf', 'anyOf', 'oneOf'] loop
    continue when jsonb_typeof(p_schema -> v_word) is distinct from 'array';
    v_many := greatest(jsonb_array_length(p_schema -> v_word), 1);
    v_fits := 0;
    for v_one in select o from jsonb_array_elements(p_schema -> v_word) as o loop
      v_problem := holdfast.schema_problem(v_one, p_value, p_root, p_path, p_budget / v_many - 1);
      if v_word = 'allOf' and v_problem is not null then
        return v_problem;
      end if;
      v_fits := v_fits + (v_problem is null)::integer;
    end loop;
    if v_fits = 0 and v_word <> 'allOf' then
      -- Of one alternative alone its own problem says more.
      return case when v_many = 1 then v_problem else jsonb_build_object('path', p_path, 'problem', format('fits none of %s alternatives', v_many)) end;
    elsif v_fits > 1 and v_word = 'oneOf' and (select bool_and(holdfast.schema_is_known(o)) from jsonb_array_elements(p_schema -> v_word) as o) then
      return jsonb_build_object('path', p_path, 'problem', 'fits more than one of the alternatives');
    end if;
  end loop;
  if p_schema ? 'not' and holdfast.schema_is_known(p_schema -> 'not')
     and holdfast.schema_problem(p_schema -> 'not', p_value, p_root, p_path, p_budget / 2) is null then
    return jsonb_build_object('path', p_path, 'problem', 'is what it must not be');
  end if;
  return null;
end $$;

-- Whether schema_problem checks all that a schema says, so that what it lets pass fits.
create or replace function holdfast.schema_is_known(p_schema jsonb) returns boolean language sql immutable as $$
  select case jsonb_typeof(p_schema) when 'boolean' then true when 'object' then
    not exists (select from jsonb_object_keys(p_schema) as k where k <> all (array['type', 'const', 'enum', 'required', 'properties', 'additionalProperties',
      'items', 'minItems', 'maxItems', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength',
      'anyOf', 'allOf', 'title', 'description', 'default', 'examples', '$comment']))
    and coalesce((select bool_and(holdfast.schema_is_known(s.one)) from (
      select p.value from jsonb_each(case jsonb_typeof(p_schema -> 'properties') when 'object' then p_schema -> 'properties' else '{}' end) as p
      union all select i from unnest(array[p_schema -> 'items', p_schema -> 'additionalProperties']) as i where i is not null
      union all select a.value from jsonb_each(p_schema) as w cross join jsonb_array_elements(case when w.key in ('anyOf', 'allOf') then w.value else '[]' end) as a
    ) as s (one)), true)
  else false end
$$;

-- A number of a schema; null where something else stands.
create or replace function holdfast.number_said(p_said jsonb) returns numeric language sql immutable as $$
  select case jsonb_typeof(p_said) when 'number' then (p_said #>> '{}')::numeric end
$$;

-- Whether a text matches a pattern of JavaScript: only where PostgreSQL reads it in the same way; null otherwise. Those are patterns of plain characters,
-- lists of them, \d, \w, groups, alternatives, repetitions and looks ahead. With the collation C, \d and \w are those of ASCII, as in JavaScript.
-- A dot is another matter for a text of several lines.
create or replace function holdfast.pattern_says(p_pattern text, p_text text) returns boolean language plpgsql immutable as $$
begin
  if p_pattern !~ ('^(' || '[A-Za-z0-9 _@/:,;#%&~"''<>=!^$.|)-]' || '|\\[dw.^$*+?()\[\]{}|/-]' || '|\((\?[:=!])?(?![?*])'
      || '|\[\^?([A-Za-z0-9 _@/:,;#%&~"''<>=!.+*?()|$-]|\\[dw.^$*+?()\[\]{}|/\\-])+\]' || '|[*+?]\??(?![*+?{])|\{\d+(,\d*)?\}(?![*+?{])' || ')*$')
     or p_pattern ~ '\.' and p_text ~ '[\n\r\u2028\u2029]' then
    return null;
  end if;
  return p_text ~ (p_pattern collate "C");
exception when invalid_regular_expression then
  return null;
end $$;

-- Refuses payloads that do not fit the stored schema of their type. One type alone is that of all, and one version. A schema is that of the newest
-- payloads; those that are encrypted cannot be read here. The detail says for programs which job it was, and where.
create or replace function holdfast.refuse_unfit(p_ids uuid[], p_types text[], p_payloads text[], p_versions smallint[]) returns void
language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_found record;
begin
  select a.id, t.name, p.problem, p.path into v_found
  from unnest(p_ids, p_types, p_payloads, p_versions) with ordinality as a (id, type, payload, version, ordinal)
  join holdfast.types as t on t.name = coalesce(a.type, p_types[1])
  cross join lateral (select holdfast.schema_problem(t.payload_schema, a.payload::jsonb) as found offset 0) as f
  cross join lateral (select f.found ->> 'problem' as problem, jsonb_build_array('payload') || (f.found -> 'path') as path) as p
  where t.payload_schema is not null and not t.encrypted and a.payload not like '{"$enc"%'
    and coalesce(case when cardinality(p_versions) = 1 then p_versions[1] else a.version end, t.version) = t.version and f.found is not null
  order by a.ordinal limit 1;
  if found then
    raise exception '% refuses its payload: %: %', v_found.name, (
      select string_agg(case when jsonb_typeof(s.step) = 'number' then format('[%s]', s.step) when s.nth = 1 then s.step #>> '{}'
                             when s.step #>> '{}' ~ '^[A-Za-z_$][\w$]{0,99}$' then '.' || (s.step #>> '{}') else format('[%s]', left(s.step::text, 100)) end, '' order by s.nth)
      from jsonb_array_elements(v_found.path) with ordinality as s (step, nth)), v_found.problem
      using errcode = 'HF014', detail = jsonb_build_object('id', v_found.id, 'path', v_found.path, 'problem', v_found.problem);
  end if;
end $$;
