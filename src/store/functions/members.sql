-- Several databases as one system: which member a key belongs to, who this one is, and what is left in it.

-- The part of a key by which it is routed: what stands in its first braces, as in {customer-7}/order-9, and otherwise all of it.
create or replace function holdfast.routed_part(p_key text) returns text language sql immutable strict parallel safe
as $$ select coalesce(nullif(substring(p_key from '\{([^{}]+)\}'), ''), p_key) $$;

-- The member that a key belongs to: rendezvous hashing, so that of n members a new one takes over one key in n + 1, and no other key moves. The library has
-- the same function (src/members/route.ts).
create or replace function holdfast.member_of(p_key text, p_members text[]) returns text language sql immutable strict parallel safe as $$
  select m.name from unnest(p_members) as m (name)
  order by sha256(convert_to(m.name || '/' || holdfast.routed_part(p_key), 'UTF8')) desc limit 1
$$;

-- Gives this database its name among the members, unless it has one. Answers with the name that it has.
create or replace function holdfast.be_member(p_name text) returns text language plpgsql as $$
declare
  v_name text;
begin
  select m.name into v_name from holdfast.membership as m;
  if found then
    return v_name;
  end if;
  insert into holdfast.membership (name, routed, changed_at) values (p_name, true, holdfast.now()) on conflict do nothing;
  select m.name into strict v_name from holdfast.membership as m;
  return v_name;
end $$;

-- Whether jobs are routed here by their key.
create or replace function holdfast.route_member(p_routed boolean, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_before holdfast.membership;
begin
  select * into v_before from holdfast.membership for update;
  if not found then
    raise exception 'this database is no member of a system of several' using errcode = 'HF002', detail = 'member',
      hint = 'holdfast migrate gives each database of HOLDFAST_DATABASES its name.';
  end if;
  update holdfast.membership
  set routed = p_routed, changed_by = p_actor.name, changed_why = p_actor.why, changed_at = holdfast.now();
  perform holdfast.audit(case when p_routed then 'open_member' else 'drain_member' end, v_before.name,
    jsonb_build_object('routed', v_before.routed), jsonb_build_object('routed', p_routed), p_actor);
end $$;
