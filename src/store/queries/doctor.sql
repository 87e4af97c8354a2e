-- name: doctorServer
-- The settings of the server that decide what survives a crash, how many connections it has and whether it cleans up; how many are taken, and by whom.
select s.settings, a.used, a.ours, pg_notification_queue_usage() as notify_queue,
       pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all
from (select jsonb_object_agg(p.name, p.setting) as settings from pg_settings as p
      where p.name in ('max_connections', 'superuser_reserved_connections', 'reserved_connections', 'autovacuum', 'track_counts',
                       'fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names')) as s
cross join (select count(*)::integer as used, count(*) filter (where b.application_name like 'holdfast%')::integer as ours
            from pg_stat_activity as b where b.backend_type = 'client backend') as a

-- name: doctorTables
-- What PostgreSQL counted of each table: rows that live, rows that vacuum could not remove yet, and rows changed since it was analyzed.
select s.relname as name, s.n_live_tup::float8 as live, s.n_dead_tup::float8 as dead, s.n_mod_since_analyze::float8 as changed,
       coalesce(c.reloptions, '{}') && array['autovacuum_enabled=false', 'autovacuum_enabled=off'] as never_vacuumed
from pg_stat_all_tables as s join pg_class as c on c.oid = s.relid
where c.relnamespace = 'holdfast'::regnamespace and c.relkind = 'r' order by s.relname

-- name: doctorHolders
-- What keeps vacuum from removing rows of this database: open transactions, transactions that were prepared and left, and replication slots.
select 'session' as kind, a.pid::text as name, concat_ws(', ', nullif(a.application_name, ''), a.usename, a.state) as who,
       extract(epoch from clock_timestamp() - a.xact_start)::float8 * 1000 as age, null::float8 as behind, true as active
from pg_stat_activity as a
where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
  and a.xact_start is not null and (a.backend_xmin is not null or a.backend_xid is not null)
union all
select 'prepared', p.gid, p.owner, extract(epoch from clock_timestamp() - p.prepared)::float8 * 1000, null, false
from pg_prepared_xacts as p where p.database = current_database()
union all
select 'slot', s.slot_name, concat_ws(', ', s.slot_type, s.plugin), null,
       case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn) end::float8, s.active
from pg_replication_slots as s where s.database is null or s.database = current_database()

-- name: doctorCatalog
-- What is there: tables with their columns, constraints, indexes and whether they can be used, triggers, and the text of each function.
select
  (select jsonb_object_agg(t.name, t.columns) from (
    select c.relname as name, jsonb_object_agg(a.attname, jsonb_build_array(format_type(a.atttypid, null), a.attnotnull)) as columns
    from pg_class as c join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and c.relname !~ '_[0-9]{8}$' group by c.relname
  ) as t) as tables,
  (select jsonb_agg(c.relname || '.' || k.conname) from pg_constraint as k join pg_class as c on c.oid = k.conrelid
   where c.relnamespace = 'holdfast'::regnamespace) as constraints,
  (select jsonb_agg(jsonb_build_object('name', i.relname, 'table', t.relname, 'valid', x.indisvalid)) from pg_index as x
   join pg_class as i on i.oid = x.indexrelid join pg_class as t on t.oid = x.indrelid
   where t.relnamespace = 'holdfast'::regnamespace
     and not exists (select from pg_stat_progress_create_index as b where b.index_relid = i.oid)) as indexes,
  (select coalesce(jsonb_agg(jsonb_build_object('name', g.tgname, 'table', t.relname, 'enabled', g.tgenabled <> 'D')), '[]')
   from pg_trigger as g join pg_class as t on t.oid = g.tgrelid
   where t.relnamespace = 'holdfast'::regnamespace and not g.tgisinternal and t.relname !~ '_[0-9]{8}$') as triggers,
  (select jsonb_agg(jsonb_build_array(p.proname, p.prosrc)) from pg_proc as p where p.pronamespace = 'holdfast'::regnamespace) as functions

-- name: doctorReleases
-- Which release wrote the functions, and the last schema file that ran.
select f.release, f.hash, (select coalesce(max(m.number), 0) from holdfast.migrations as m)::integer as newest
from holdfast.functions_applied as f

-- name: doctorClock
-- The clock of the server, and the clock by which Holdfast decides, which are the same but in tests. Milliseconds since 1970.
select extract(epoch from clock_timestamp())::float8 * 1000 as server, extract(epoch from holdfast.now())::float8 * 1000 as ours

-- name: doctorWorkers
-- The workers that were heard of within three minutes: how many connections each may hold, and whether its notifications are swallowed.
select w.id, w.name, w.host, w.pid, w.connections, w.swallowed_at is not null as swallowed, w.token_hash is not null as remote
from holdfast.workers as w
where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes' order by w.id

-- name: doctorLanes
-- Each lane: its types, how many jobs of it are free to run, up to $1, and how many workers that live know one of its types.
select l.name, l.enabled, coalesce(t.types, '[]') as types, f.free, v.workers from holdfast.lanes as l
left join lateral (select jsonb_agg(t.name order by t.name) as types from holdfast.types as t where t.lane_id = l.id) as t on true
cross join lateral (
  select count(*)::integer as free from (
    (select from holdfast.queue as q where q.lane_id = l.id and q.pass = 0 and q.lease_id is null limit $1::text::integer)
    union all
    (select from holdfast.types as t cross join lateral (
       select q.lease_id from holdfast.queue as q where q.type_id::bigint = t.id and q.pass > 0 limit $1::text::integer) as g
     where t.lane_id = l.id and g.lease_id is null limit $1::text::integer)
  ) as q
) as f
cross join lateral (
  select count(*)::integer as workers from holdfast.workers as w
  where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes'
    and exists (select from holdfast.types as t where t.id = any (w.types) and t.lane_id = l.id)
) as v
order by l.id

-- name: doctorPartitions
-- The days that are missing; when retention last looked for a day to drop and what it was told to keep; and each day that is older than
-- that by more than two days; and the days that are kept only because they are not archived. Moments are milliseconds since 1970.
select
  (select coalesce(jsonb_agg(m.family || ' of ' || m.day::text), '[]') from holdfast.missing_partitions(1) as m) as missing,
  extract(epoch from holdfast.now() - r.ran_at)::float8 * 1000 as idle,
  (select coalesce(jsonb_agg(c.relname order by c.relname), '[]')
   from pg_class as c join pg_inherits as i on i.inhrelid = c.oid join pg_class as f on f.oid = i.inhparent
   where c.relnamespace = 'holdfast'::regnamespace and c.relname ~ '_[0-9]{8}$'
     and (to_date(right(c.relname, 8), 'YYYYMMDD') + 3)::timestamp at time zone 'UTC'
         <= holdfast.now() - case f.relname when 'dead_letters' then r.dead else r.completed end) as overdue,
  (select coalesce(jsonb_agg(d.day::text order by d.day), '[]') from holdfast.days_to_archive() as d (day)
   where holdfast.setting('archive_first') = 1
     and (d.day + 1)::timestamp at time zone 'UTC' <= holdfast.now() - holdfast.setting_time('retention_completed')) as unarchived
from (select 1) as one left join holdfast.retention_ran as r on true

-- name: wakeUpsSwallowed
-- Notes that a pooler swallows the notifications of a worker, or that they arrive again.
update holdfast.workers set swallowed_at = case when $2::text::boolean then holdfast.now() end where id = $1::text::integer
