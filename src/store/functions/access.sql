-- Who may do what, and who did what. Keys of services, the roles that say what a key allows, and the log of everything
-- operators changed, written by the very functions that change it.

-- A line that has had its time may be deleted, by sweep_audit; nothing else may be done to one.
create or replace function holdfast.refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and tg_level = 'ROW' and old.at < holdfast.now() - holdfast.setting_time('retention_audit') then
    return old;
  end if;
  raise exception 'lines of the audit log cannot be changed or deleted' using errcode = 'HF007';
end $$;

create or replace trigger audit_log_is_append_only before update or truncate on holdfast.audit_log
  for each statement execute function holdfast.refuse_change();
create or replace trigger audit_log_is_kept before delete on holdfast.audit_log
  for each row execute function holdfast.refuse_change();

-- Deletes lines that have had their time, at most p_limit of them. With the rights of its owner: no role may delete a line itself.
create or replace function holdfast.sweep_audit(p_limit integer) returns integer
language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_gone integer;
begin
  delete from holdfast.audit_log where id = any (array(
    select a.id from (select o.id, o.at from holdfast.audit_log as o order by o.id limit p_limit) as a
    where a.at < holdfast.now() - holdfast.setting_time('retention_audit')));
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;

-- Makes an actor of who does something, why, and where they came from (an address, or "cli"). Whoever is not named is the database
-- user of the session.
create or replace function holdfast.actor(p_name text, p_why text default null, p_origin text default null) returns holdfast.actor
language sql stable
as $$ select (coalesce(p_name, session_user), p_why, p_origin, null)::holdfast.actor $$;

-- Writes one line of the log about what p_actor did, in the transaction of what it tells of. Of before and after only what differs
-- is kept; where both are given and nothing differs, nothing was done and nothing is written.
create or replace function holdfast.audit(p_action text, p_target text, p_before jsonb, p_after jsonb, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_changed text[];
begin
  if p_before is not null and p_after is not null then
    v_changed := array(select k from jsonb_object_keys(p_before || p_after) as k where p_before -> k is distinct from p_after -> k);
    if v_changed = '{}' then
      return;
    end if;
    p_before := (select jsonb_object_agg(k, p_before -> k) from unnest(v_changed) as k);
    p_after := (select jsonb_object_agg(k, p_after -> k) from unnest(v_changed) as k);
  end if;
  if p_actor.bulk is not null then
    p_after := coalesce(p_after, '{}') || jsonb_build_object('bulk', p_actor.bulk);
  end if;
  insert into holdfast.audit_log (at, actor, origin, action, target, before, after, why)
  values (holdfast.now(), coalesce(p_actor.name, session_user), p_actor.origin, p_action, p_target, p_before, p_after, p_actor.why);
end $$;

-- The line for a move of jobs; those that were not moved are not in it. Many jobs are one line with their ids: what changed
-- about each stands in its history or in moves.
create or replace function holdfast.audit_moves(p_move text, p_moved holdfast.moved[], p_after jsonb, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_done holdfast.moved[] := array(select m from unnest(p_moved) as m where m.done);
  v_before jsonb;
begin
  if cardinality(v_done) = 1 then
    v_before := jsonb_build_object('status', v_done[1].was);
    if p_after is not null then
      -- Payloads stand with the job, which is forgotten one day; this log is not.
      v_before := v_before || coalesce((select m.before - 'payload' from holdfast.moves as m where m.job_id = v_done[1].job_id order by m.at desc limit 1), '{}');
    end if;
    perform holdfast.audit(p_move || '_job', v_done[1].job_id::text, v_before,
      jsonb_build_object('status', v_done[1].status) || coalesce(p_after, '{}'), p_actor);
  elsif cardinality(v_done) > 1 then
    perform holdfast.audit(p_move || '_jobs', format('%s jobs', cardinality(v_done)), null,
      coalesce(p_after, '{}') || jsonb_build_object('jobs', (select jsonb_agg(m.job_id) from unnest(v_done) as m)), p_actor);
  end if;
end $$;

-- What people set about a gate, and what shuts it: for the audit log.
create or replace function holdfast.gate_settings(p_type integer) returns jsonb language sql stable as $$
  select to_jsonb(g) - '{type_id,uses,defined,operator,timed,ends_at,turn_key,turn_taken,front_seq,front_job,front_at,keyed,breaker_since,breaker_probe_at}'::text[] from holdfast.gates as g where g.type_id = p_type
$$;

-- What people set about a key: for the audit log. Null: nobody ever did.
create or replace function holdfast.key_settings(p_type integer, p_key text) returns jsonb language sql stable as $$
  select jsonb_build_object('paused_at', k.paused_at, 'paused_by', k.paused_by, 'paused_why', k.paused_why, 'paused_until', k.paused_until,
                            'rests_until', k.rests_until, 'halted_at', k.halted_at, 'halted_by', k.halted_by, 'weight', k.weight)
  from holdfast.keys as k where k.type_id = p_type and k.concurrency_key = p_key
$$;

-- A key as the log tells of it: never its hash.
create or replace function holdfast.key_facts(p_id integer) returns jsonb language sql stable as $$
  select to_jsonb(k) - '{id,hash,last_used_at,created_at,created_by}'::text[] from holdfast.api_keys as k where k.id = p_id
$$;

-- Makes a key known by its hash, or a certificate by its subject. A service has at most two of either that live, so that one can
-- replace the other.
create or replace function holdfast.create_key(
  p_service text, p_hash bytea, p_subject text, p_prefix text, p_roles text[], p_types text[], p_rate_limit integer, p_expires_ms double precision,
  p_actor holdfast.actor
) returns integer language plpgsql as $$
declare
  v_unknown text := (select min(r) from unnest(p_roles) as r where r not in (select name from holdfast.roles));
  v_id integer;
begin
  if v_unknown is not null then
    raise exception 'there is no role "%"', v_unknown using errcode = 'HF002',
      hint = (select 'There are ' || string_agg(r.name, ', ' order by r.name) || '.' from holdfast.roles as r);
  end if;
  perform pg_advisory_xact_lock(hashtextextended('holdfast.keys.' || p_service, 0));
  -- After that of the service, always: so nobody waits in a circle.
  perform pg_advisory_xact_lock(hashtextextended('holdfast.subjects.' || p_subject, 0)) where p_subject is not null;
  if exists (select from holdfast.api_keys as k where k.subject = p_subject and k.revoked_at is null) then
    raise exception 'certificates of % are accepted as a service already', p_subject using errcode = 'HF006', hint = 'Revoke that first.';
  end if;
  if (select count(*) from holdfast.api_keys as k where k.service = p_service and k.revoked_at is null
        and (k.hash is null) = (p_hash is null)
        and (k.expires_at is null or k.expires_at > holdfast.now())) >= 2 then
    raise exception '% has two % already', p_service, case when p_hash is null then 'certificates' else 'keys' end using errcode = 'HF006', hint = 'Revoke one of them first.';
  end if;
  insert into holdfast.api_keys (service, hash, subject, prefix, roles, types, rate_limit, expires_at, created_by)
  values (p_service, p_hash, p_subject, p_prefix, p_roles, p_types, p_rate_limit, holdfast.now() + p_expires_ms * interval '1 millisecond', p_actor.name)
  returning id into v_id;
  perform holdfast.audit(case when p_hash is null then 'trust_certificate' else 'create_key' end, v_id::text, null, holdfast.key_facts(v_id), p_actor);
  return v_id;
end $$;

-- Ends a key. False: there is no such key. Revoking twice keeps the first time.
create or replace function holdfast.revoke_key(p_id integer, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_before jsonb;
begin
  perform from holdfast.api_keys where id = p_id for update;
  v_before := holdfast.key_facts(p_id);
  update holdfast.api_keys set revoked_at = holdfast.now() where id = p_id and revoked_at is null;
  if v_before is not null then
    perform holdfast.audit('revoke_key', p_id::text, v_before, holdfast.key_facts(p_id), p_actor);
  end if;
  return v_before is not null;
end $$;

-- A second key like the first, which goes on for a while. Null: there is no such key, or it lives no more.
create or replace function holdfast.rotate_key(p_id integer, p_hash bytea, p_prefix text, p_grace_ms double precision, p_actor holdfast.actor)
returns integer language plpgsql as $$
declare
  v_old holdfast.api_keys;
  v_before jsonb;
  v_id integer;
begin
  select * into v_old from holdfast.api_keys as k
  where k.id = p_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > holdfast.now()) for update;
  if not found then
    return null;
  end if;
  if v_old.hash is null then
    raise exception 'key % is a certificate, which has no secret to rotate', p_id using errcode = 'HF006',
      hint = 'A new certificate of the same subject is accepted without a change here.';
  end if;
  v_before := holdfast.key_facts(p_id);
  v_id := holdfast.create_key(v_old.service, p_hash, null, p_prefix, v_old.roles, v_old.types, v_old.rate_limit,
    extract(epoch from v_old.expires_at - v_old.created_at) * 1000, p_actor);
  update holdfast.api_keys set expires_at = least(expires_at, holdfast.now() + p_grace_ms * interval '1 millisecond') where id = p_id;
  perform holdfast.audit('rotate_key', p_id::text, v_before, holdfast.key_facts(p_id), p_actor);
  return v_id;
end $$;

-- Makes a role or changes one. Those that came with the installation stay as they are.
create or replace function holdfast.set_role(p_name text, p_permissions text[], p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_before jsonb;
begin
  select to_jsonb(r) into v_before from holdfast.roles as r where r.name = p_name for update;
  if v_before ->> 'built_in' = 'true' then
    raise exception 'the role % is built in and cannot be changed', p_name using errcode = 'HF006', hint = 'Make a role with another name.';
  end if;
  insert into holdfast.roles (name, permissions) values (p_name, p_permissions)
  on conflict (name) do update set permissions = excluded.permissions;
  perform holdfast.audit('set_role', p_name, v_before, (select to_jsonb(r) from holdfast.roles as r where r.name = p_name), p_actor);
end $$;

-- Removes a role nobody has any more. False: there is no such role.
create or replace function holdfast.drop_role(p_name text, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_before jsonb;
begin
  select to_jsonb(r) into v_before from holdfast.roles as r where r.name = p_name for update;
  if v_before ->> 'built_in' = 'true' or exists (select from holdfast.api_keys as k where p_name = any (k.roles) and k.revoked_at is null) then
    raise exception 'the role % is in use', p_name using errcode = 'HF006', hint = 'Revoke the keys that have it first.';
  end if;
  delete from holdfast.roles where name = p_name;
  if v_before is not null then
    perform holdfast.audit('drop_role', p_name, v_before, null, p_actor);
  end if;
  return v_before is not null;
end $$;

-- How much may wait in the queue, a lane or a type before enqueue is refused. All null takes the limit away. p_others: how many jobs may
-- wait otherwise than for a worker: {"scheduled", "retrying", "unapproved", "blocked"}.
create or replace function holdfast.set_depth_limit(p_scope text, p_name text, p_soft bigint, p_hard bigint, p_oldest_ms double precision, p_actor holdfast.actor,
                                                    p_others jsonb default '{}')
returns void language plpgsql as $$
declare
  v_before jsonb := (select to_jsonb(d) from holdfast.depth_limits as d where d.scope = p_scope and d.name = p_name);
begin
  -- A limit for what does not exist would limit nothing, and nobody would be told.
  if p_scope = 'lane' then
    perform holdfast.lane_named(p_name);
  elsif p_scope = 'type' then
    perform holdfast.type_named(p_name);
  end if;
  insert into holdfast.depth_limits (scope, name, soft, hard, oldest, scheduled, retrying, unapproved, blocked)
  values (p_scope, p_name, p_soft, p_hard, p_oldest_ms * interval '1 millisecond', (p_others ->> 'scheduled')::bigint,
          (p_others ->> 'retrying')::bigint, (p_others ->> 'unapproved')::bigint, (p_others ->> 'blocked')::bigint)
  on conflict (scope, name) do update
    set soft = excluded.soft, hard = excluded.hard, oldest = excluded.oldest, scheduled = excluded.scheduled, retrying = excluded.retrying,
        unapproved = excluded.unapproved, blocked = excluded.blocked;
  perform holdfast.audit('limit_depth', concat_ws(' ', p_scope, nullif(p_name, '')), v_before,
    (select to_jsonb(d) from holdfast.depth_limits as d where d.scope = p_scope and d.name = p_name), p_actor);
end $$;

-- Servers let requests of a service in by themselves and tell it here, some at a time. Answers with how many are left of its rate, which fill again with
-- time up to a second's worth; below zero: so many have to be paid back first.
create or replace function holdfast.spend_requests(p_service text, p_rate integer, p_count double precision) returns double precision language sql as $$
  insert into holdfast.request_rates as r (service, rate, tokens, at) values (p_service, p_rate, p_rate - p_count, holdfast.now())
  on conflict (service, rate) do update
    set tokens = least(p_rate, r.tokens + greatest(0, extract(epoch from excluded.at - r.at)) * p_rate) - p_count, at = excluded.at
  returning tokens
$$;
