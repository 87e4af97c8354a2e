-- Whether completed jobs have truly done their work: what was found of those that were looked at again.

-- Counts one completed job that was looked at again.
create or replace function holdfast.note_verified(p_type text, p_confirmed boolean) returns void language sql as $$
  insert into holdfast.verifications as v (type_id, at, confirmed, refuted)
  select t.id, date_trunc('minute', holdfast.now()), p_confirmed::integer, (not p_confirmed)::integer from holdfast.types as t where t.name = p_type
  on conflict (type_id, at) do update set confirmed = v.confirmed + excluded.confirmed, refuted = v.refuted + excluded.refuted;
  insert into holdfast.verified as v (type_id, confirmed, refuted)
  select t.id, p_confirmed::integer, (not p_confirmed)::integer from holdfast.types as t where t.name = p_type
  on conflict (type_id) do update set confirmed = v.confirmed + excluded.confirmed, refuted = v.refuted + excluded.refuted
$$;
