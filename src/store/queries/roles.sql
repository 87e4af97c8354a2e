-- name: grantRoles
-- Makes the roles that programs log in with or are members of, where they are missing, and gives each what it needs and no more.
-- Run again after every migration, which may bring tables and functions that no role has been given. Needs to own the schema, and
-- CREATEROLE where a role is missing. All of it or nothing.
do $roles$
declare
  -- The roles of an installation carry the name of its schema: roles belong to the whole server.
  v_schema constant name := (select n.nspname from pg_catalog.pg_namespace as n where n.oid = 'holdfast'::regnamespace);
  v_in constant text := quote_ident(v_schema);
  v_producer constant text := quote_ident(v_schema || '_producer');
  v_reader constant text := quote_ident(v_schema || '_reader');
  v_worker constant text := quote_ident(v_schema || '_worker');
  v_operator constant text := quote_ident(v_schema || '_operator');
  v_server constant text := quote_ident(v_schema || '_server');
  v_those_who_work constant text := concat_ws(', ', v_worker, v_operator, v_server);
  v_all constant text := concat_ws(', ', v_producer, v_reader, v_those_who_work);
  v_role text;
  -- Whoever may change one of these can give themselves everything else, or take a line out of the log.
  v_guarded constant text[] := array['api_keys', 'roles', 'sessions', 'audit_log', 'alert_targets', 'migrations', 'functions_applied'];
  v_guards constant text[] := array['create_key', 'revoke_key', 'rotate_key', 'set_role', 'drop_role', 'open_session', 'end_session', 'end_sessions_of'];
  v_enqueue constant text[] := array['enqueue', 'enqueue_job', 'enqueue_jobs', 'refuse_unfit', 'take_keys', 'measure_depths', 'depths_under_limit', 'reserve_pace',
                                     'now', 'new_job_id', 'create_batch', 'join_batch', 'close_batch', 'start_execution', 'signal',
                                     'send_signal', 'type_of_job'];
  v_name text;
begin
  foreach v_role in array array['producer', 'reader', 'worker', 'operator', 'server'] loop
    v_role := v_schema || '_' || v_role;
    continue when exists (select from pg_catalog.pg_roles as r where r.rolname = v_role);
    begin
      execute format('create role %I nologin', v_role);
    exception
      when duplicate_object or unique_violation then null;
      when insufficient_privilege then
        raise exception 'the role % does not exist, and % may not create roles', v_role, current_user using errcode = '42501',
          hint = 'Let an administrator run the script that this prints: holdfast migrate --roles --sql';
    end;
  end loop;

  execute format('revoke all on schema %s from public, %s', v_in, v_all);
  execute format('revoke all on all tables in schema %s from public, %s', v_in, v_all);
  execute format('revoke all on all sequences in schema %s from public, %s', v_in, v_all);
  execute format('revoke all on all functions in schema %s from public, %s', v_in, v_all);
  execute format('grant usage on schema %s to %s', v_in, v_all);
  execute 'grant select on holdfast.migrations, holdfast.functions_applied to ' || v_all;

  -- Tables by name, and default partitions, which are swept by name; a day is reached through its table.
  for v_name in
    select c.relname from pg_catalog.pg_class as c
    where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p', 'v')
      and (not c.relispartition or c.relname like '%\_rest') and c.relname <> all (v_guarded)
  loop
    execute format('grant select, insert, update, delete on holdfast.%I to %s', v_name, v_those_who_work);
  end loop;
  execute format('grant usage on all sequences in schema %s to %s', v_in, v_those_who_work);
  -- Claims say in these how far they have read.
  for v_name in select format('holdfast.front_%s', n) from generate_series(0, 7) as n loop
    execute format('grant update on sequence %s to %s', v_name, v_those_who_work);
  end loop;
  execute 'grant insert on holdfast.audit_log to ' || v_those_who_work;
  execute 'grant select on holdfast.alert_targets to ' || v_those_who_work;
  execute 'grant insert, update, delete on holdfast.alert_targets to ' || concat_ws(', ', v_operator, v_server);
  execute 'grant select on holdfast.audit_log to ' || concat_ws(', ', v_operator, v_server);
  execute 'grant select, insert, update, delete on holdfast.api_keys, holdfast.roles, holdfast.sessions to ' || v_server;

  for v_name in
    select p.oid::regprocedure::text from pg_catalog.pg_proc as p
    where p.pronamespace = 'holdfast'::regnamespace and p.proname <> all (v_guards)
  loop
    execute format('grant execute on function %s to %s, %s', v_name, v_worker, v_operator);
  end loop;
  execute format('grant execute on all functions in schema %s to %s', v_in, v_server);

  for v_name in
    select p.oid::regprocedure::text from pg_catalog.pg_proc as p
    where p.pronamespace = 'holdfast'::regnamespace and p.proname = any (v_enqueue)
  loop
    execute format('grant execute on function %s to %s', v_name, v_producer);
  end loop;
  execute 'grant select on holdfast.types, holdfast.lanes, holdfast.workflows, holdfast.membership to ' || v_producer;

  -- Everything of a job but its payload and its result, and nothing of a worker's token.
  for v_role, v_name in
    select c.relname, string_agg(quote_ident(a.attname), ', ' order by a.attnum)
    from pg_catalog.pg_class as c join pg_catalog.pg_attribute as a on a.attrelid = c.oid
    where c.relnamespace = 'holdfast'::regnamespace and a.attnum > 0 and not a.attisdropped and a.attname not in ('payload', 'result', 'input', 'token_hash')
      and c.relname = any (array['jobs', 'attempts', 'batch_progress', 'executions', 'execution_tasks', 'counters', 'schedule_overview', 'types', 'lanes', 'gates', 'depths', 'samples', 'workers', 'alerts', 'alert_rules'])
    group by c.relname
  loop
    execute format('grant select (%s) on holdfast.%I to %s', v_name, v_role, v_reader);
  end loop;
end $roles$
