-- After a failover and after a restore PostgreSQL goes on on another timeline, which may begin before things that were done: numbers that were given out
-- then would be given out again.

-- The timeline of this server; null: a standby, or a server that does not say.
create or replace function holdfast.timeline_now() returns integer language plpgsql stable as $$
begin
  return ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
exception when others then
  return null;
end $$;

-- What the last recovery of this server was told to end at; empty: at the end of the log, as in a failover.
create or replace function holdfast.recovery_target() returns text language sql stable as $$
  select coalesce(string_agg(s.name || ' ' || s.setting, ', ' order by s.name), '') from pg_settings as s
  where s.name in ('recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time', 'recovery_target_xid') and s.setting <> ''
$$;

-- Notices that the server goes on on another timeline. Leases from now on have numbers that none had before, because a worker that lives on from before
-- may hold one that this database does not know of, and its results must change nothing. An installation that was restored to a point in time is paused, type by type: jobs that ended after that point
-- would run again, and somebody has to decide about them. The answer, for the first who asks: what it was restored to; null: it was not.
create or replace function holdfast.notice_timeline() returns text language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_now integer := holdfast.timeline_now();
  v_target text;
  v_known holdfast.timeline;
begin
  if v_now is null or v_now = (select t.timeline from holdfast.timeline as t) then
    return null;
  end if;
  v_target := holdfast.recovery_target();
  insert into holdfast.timeline (timeline, restored_to) values (v_now, v_target) on conflict do nothing;
  select t.* into v_known from holdfast.timeline as t for update;
  if v_known.timeline = v_now then
    return null;
  end if;
  perform setval('holdfast.lease_seq', nextval('holdfast.lease_seq') + 1000000000);
  update holdfast.timeline set timeline = v_now, restored_to = v_target;
  -- The settings of a restore stay behind, and must not pause anything after the next failover.
  if v_target = '' or v_target = v_known.restored_to then
    return null;
  end if;
  perform holdfast.pause_type(t.name, holdfast.actor('holdfast', 'restored to ' || v_target, null))
  from holdfast.types as t where t.name not like 'holdfast:%' order by t.name;
  return v_target;
end $$;
