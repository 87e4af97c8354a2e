-- name: readStart
-- What a worker has to know at its start, in one look: its types; which of their limits ($2) and uses ($3) and of its dependencies ($4, $5) are
-- defined otherwise, and whether any has a webhook; the usual lease; how far the schema is; and the settings of this session that decide whether what the server has
-- committed survives a crash; and to what the database was restored, if it was since the last worker started.
select coalesce((
         select jsonb_agg(jsonb_build_object('name', t.name, 'id', t.id, 'lane', t.lane_id, 'lanename', l.name, 'sensitive', t.sensitive,
                                             'encrypted', t.encrypted, 'uniqueness', t.uniqueness, 'redact', t.redact))
         from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id where t.name = any ($1::text[])), '[]') as types,
       holdfast.limited_otherwise($1::text[], $2::jsonb[]) <> '{}' as limits,
       holdfast.using_otherwise($1::text[], $3::jsonb[]) <> '{}' as uses,
       holdfast.defined_otherwise($4::text[], $5::jsonb[]) <> '{}' as dependencies,
       exists (select from holdfast.webhooks as w join holdfast.types as t on t.id = w.type_id where t.name = any ($1::text[])) as webhooks,
       holdfast.setting('lease') as lease, holdfast.notice_timeline() as restored,
       (select coalesce(max(m.number), 0) from holdfast.migrations as m) as newest,
       current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
       current_setting('synchronous_commit') as commits, current_setting('synchronous_standby_names') as standbys

-- name: registerWorker
-- A new identity for this process start, never given out before; and who told its build to claim no more, and why.
insert into holdfast.workers (name, host, pid, version, types, versions, connections, build_id, own_channel)
values ($1::text, $2::text, $3::text::integer, $4::text, $5::integer[], $6::smallint[], $7::text::integer, holdfast.build_named($8::text), $9::text::boolean)
returning id, (select jsonb_build_array(o.by, o.why) from holdfast.drain_order(workers) as o) as order

-- name: workerStopped
-- This worker has ended in good order.
update holdfast.workers set stopped_at = holdfast.now() where id = $1::text::integer
