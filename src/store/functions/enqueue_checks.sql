-- What an enqueue refuses before it stores anything.

-- Refuses a type that is not registered, naming the registered ones whose names are most like it: in the detail, as JSON for programs. Returns whether any of the types has a
-- uniqueness, whether all of them are plain apart from that (no gate, no approval, no versions), whether any wants its payload encrypted, and whether
-- any has a schema.
create or replace function holdfast.check_types(p_types text[], out has_unique boolean, out all_plain boolean, out any_encrypted boolean,
  out any_schema boolean) language plpgsql as $$
declare
  v_missing text;
  v_known jsonb;
begin
  select min(coalesce(asked.name, '')) filter (where t.id is null), coalesce(bool_or(t.uniqueness is not null), false),
         coalesce(bool_and(t.approval is null and not t.gated and t.version = 1), false), coalesce(bool_or(t.encrypted), false),
         coalesce(bool_or(t.payload_schema is not null), false)
  into v_missing, has_unique, all_plain, any_encrypted, any_schema
  from (select distinct unnest(p_types) as name) as asked left join holdfast.types as t on t.name = asked.name;
  if v_missing is null then
    return;
  end if;
  select coalesce(jsonb_agg(near.name), '[]') into v_known
  from (select t.name from holdfast.types as t order by abs(length(t.name) - length(v_missing)), t.name limit 100) as near;
  raise exception 'no job type named "%" is registered', v_missing using errcode = 'HF001',
    detail = jsonb_build_object('asked', v_missing, 'known', v_known);
end $$;

-- Refuses a payload that is not encrypted and should be. One type alone is that of all. What an encrypted one looks like is in src/privacy/keyring.ts.
create or replace function holdfast.refuse_plaintext(p_types text[], p_payloads text[]) returns void language plpgsql as $$
declare
  v_type text;
begin
  select min(t.name) into v_type from unnest(p_types, p_payloads) as a (type, payload)
  join holdfast.types as t on t.name = coalesce(a.type, p_types[1]) where t.encrypted and a.payload not like '{"$enc"%';
  if v_type is not null then
    raise exception 'payloads of % have to be encrypted, and this one is not', v_type using errcode = 'HF009',
      hint = 'Enqueue it in a process that has encryption keys, or over HTTP at a server that has them.';
  end if;
end $$;

-- Refuses an id under which something else is kept than what was asked for: the caller would take another job for theirs. A payload
-- that was replaced since says nothing about what was first asked for, and two encrypted ones are never the same. p_owner: the service
-- that asks; null: the application itself, which may ask for every job.
create or replace function holdfast.refuse_other_job(p_id uuid, p_type text, p_payload text, p_owner text) returns void
language plpgsql as $$
declare
  v_other text;
begin
  select case when p_owner is not null and b.owner is distinct from p_owner then 'it is not yours'
              when t.name <> p_type then 'its type is ' || t.name
              when b.payload::text = p_payload or b.payload::text like '{"$enc"%' or p_payload like '{"$enc"%' then null
              when b.payload::jsonb <> p_payload::jsonb and holdfast.last_writer(b.id) is null then 'its payload is another one' end
  into v_other from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where b.id = p_id;
  if v_other is not null then
    raise exception 'id % belongs to another job: %', p_id, v_other using errcode = 'HF410';
  end if;
end $$;
