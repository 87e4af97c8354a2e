-- What operators say of a lane, a type or its limits stands beside what the code says, and counts until an operator releases it. It is kept as
-- {"field": {"value", "by"}}; what was said for a time only has its end too, "until", and counts before the rest until then.

-- These fields, said by somebody.
create or replace function holdfast.as_said(p_fields jsonb, p_by text, p_until timestamptz) returns jsonb language sql stable as $$
  select coalesce(jsonb_object_agg(f.key, jsonb_build_object('value', f.value, 'by', p_by)
    || case when p_until is null then '{}' else jsonb_build_object('until', p_until) end), '{}')
  from jsonb_each(p_fields) as f
$$;

-- The values of what was said.
create or replace function holdfast.values_said(p_said jsonb) returns jsonb language sql immutable as $$
  select coalesce(jsonb_object_agg(s.key, s.value -> 'value'), '{}') from jsonb_each(p_said) as s
$$;

-- What of it is not over.
create or replace function holdfast.not_over(p_timed jsonb, p_now timestamptz) returns jsonb language sql stable as $$
  select jsonb_object_agg(s.key, s.value) from jsonb_each(p_timed) as s where (s.value ->> 'until')::timestamptz > p_now
$$;

-- When the first of it is over.
create or replace function holdfast.first_end(p_timed jsonb) returns timestamptz language sql stable as $$
  select min((s.value ->> 'until')::timestamptz) from jsonb_each(p_timed) as s
$$;

-- For people: a list of {"field", "value", "by", "until", "code"}, what counts first. until in milliseconds since 1970; null: until it is released.
create or replace function holdfast.overrides(p_defined jsonb, p_operator jsonb, p_timed jsonb, p_now timestamptz) returns jsonb language sql stable as $$
  select coalesce(jsonb_agg(jsonb_build_object('field', s.key, 'value', s.value -> 'value', 'by', s.value ->> 'by',
      'until', extract(epoch from (s.value ->> 'until')::timestamptz) * 1000, 'code', p_defined -> s.key) order by s.key, s.turn), '[]')
  from (select t.*, 1 as turn from jsonb_each(holdfast.not_over(p_timed, p_now)) as t
        union all select o.*, 2 from jsonb_each(p_operator) as o) as s
$$;
