-- Settings of the whole installation: what counts, what the code says, and what an operator said.

-- What counts.
create or replace function holdfast.setting(p_name text) returns double precision language sql stable
as $$ select coalesce(s.operator, s.defined, s.standard) from holdfast.settings as s where s.name = p_name $$;

-- The same for a time.
create or replace function holdfast.setting_time(p_name text) returns interval language sql stable
as $$ select holdfast.setting(p_name) * interval '1 millisecond' $$;

-- An operator's value, which stands until an operator takes it away with null.
create or replace function holdfast.set_setting(p_name text, p_value double precision, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_before holdfast.settings;
begin
  select * into v_before from holdfast.settings as s where s.name = p_name for update;
  if not found then
    raise exception 'no setting is named "%"', p_name using errcode = 'HF404', detail = 'name',
      hint = format('The settings are %s.', (select string_agg(s.name, ', ' order by s.name) from holdfast.settings as s));
  elsif p_value not between v_before.lowest and v_before.highest then
    raise exception '% is %; it must lie between % and %', p_name, p_value, v_before.lowest, v_before.highest using errcode = 'HF002';
  end if;
  update holdfast.settings as s
  set operator = p_value, changed_by = p_actor.name, changed_why = p_actor.why, changed_at = holdfast.now() where s.name = p_name;
  perform holdfast.audit('set_setting', p_name, jsonb_build_object('value', v_before.operator), jsonb_build_object('value', p_value), p_actor);
end $$;
