-- name: grantRoles
-- Makes the roles that programs log in with or are members of, where they are missing, and gives each what it needs and no more.
-- Run again after every migration, which may bring tables and functions that no role has been given. Needs to own the schema, and
-- CREATEROLE where a role is missing. All of it or nothing.
do $roles$
declare
  v_role text;
  -- Whoever may change one of these can give themselves everything else, or take a line out of the log.
  v_guarded constant text[] := array['api_keys', 'roles', 'sessions', 'audit_log', 'alert_targets', 'migrations'];
  v_guards constant text[] := array['create_key', 'revoke_key', 'rotate_key', 'set_role', 'drop_role', 'open_session', 'end_session'];
  v_enqueue constant text[] := array['enqueue', 'enqueue_job', 'enqueue_jobs', 'take_keys', 'owned', 'measure_depths', 'depths_under_limit',
                                     'now', 'new_job_id'];
  v_name text;
  v_all constant text := 'holdfast_producer, holdfast_reader, holdfast_worker, holdfast_operator, holdfast_server';
begin
  foreach v_role in array string_to_array(v_all, ', ') loop
    continue when exists (select from pg_catalog.pg_roles as r where r.rolname = v_role);
    begin
      execute format('create role %I nologin', v_role);
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise exception 'the role % does not exist, and % may not create roles', v_role, current_user using errcode = '42501',
          hint = 'An administrator can run what this prints: holdfast migrate --roles --sql';
    end;
  end loop;

  execute 'revoke all on schema holdfast from public, ' || v_all;
  execute 'revoke all on all tables in schema holdfast from public, ' || v_all;
  execute 'revoke all on all sequences in schema holdfast from public, ' || v_all;
  execute 'revoke all on all functions in schema holdfast from public, ' || v_all;
  execute 'grant usage on schema holdfast to ' || v_all;
  execute 'grant select on holdfast.migrations to ' || v_all;

  -- Tables by name, and default partitions, which are swept by name; a day is reached through its table.
  for v_name in
    select c.relname from pg_catalog.pg_class as c
    where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p', 'v')
      and (not c.relispartition or c.relname like '%\_rest') and c.relname <> all (v_guarded)
  loop
    execute format('grant select, insert, update, delete on holdfast.%I to holdfast_worker, holdfast_operator, holdfast_server', v_name);
  end loop;
  execute 'grant usage on all sequences in schema holdfast to holdfast_worker, holdfast_operator, holdfast_server';
  grant insert on holdfast.audit_log to holdfast_worker, holdfast_operator, holdfast_server;
  grant select on holdfast.alert_targets to holdfast_worker, holdfast_operator, holdfast_server;
  grant insert, update, delete on holdfast.alert_targets to holdfast_operator, holdfast_server;
  grant select on holdfast.audit_log to holdfast_operator, holdfast_server;
  grant select, insert, update, delete on holdfast.api_keys, holdfast.roles, holdfast.sessions to holdfast_server;

  for v_name in
    select p.oid::regprocedure::text from pg_catalog.pg_proc as p
    where p.pronamespace = 'holdfast'::regnamespace and p.proname <> all (v_guards)
  loop
    execute format('grant execute on function %s to holdfast_worker, holdfast_operator', v_name);
  end loop;
  execute 'grant execute on all functions in schema holdfast to holdfast_server';

  for v_name in
    select p.oid::regprocedure::text from pg_catalog.pg_proc as p
    where p.pronamespace = 'holdfast'::regnamespace and p.proname = any (v_enqueue)
  loop
    execute format('grant execute on function %s to holdfast_producer', v_name);
  end loop;
  grant select on holdfast.types, holdfast.lanes to holdfast_producer;

  -- Everything of a job but its payload, and nothing of a worker's token.
  for v_role, v_name in
    select c.relname, string_agg(quote_ident(a.attname), ', ' order by a.attnum)
    from pg_catalog.pg_class as c join pg_catalog.pg_attribute as a on a.attrelid = c.oid
    where c.relnamespace = 'holdfast'::regnamespace and a.attnum > 0 and not a.attisdropped and a.attname not in ('payload', 'token_hash')
      and c.relname = any (array['jobs', 'attempts', 'counters', 'types', 'lanes', 'gates', 'depths', 'workers', 'alerts', 'alert_rules'])
    group by c.relname
  loop
    execute format('grant select (%s) on holdfast.%I to holdfast_reader', v_name, v_role);
  end loop;
end $roles$
