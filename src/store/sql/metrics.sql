-- name: takeNote
-- Adds how long attempts took, which results came too late and which requests to enqueue were refused. The same note twice counts once.
select holdfast.take_note($1::uuid, $2::text[], $3::smallint[], $4::integer[], $5::float8[], $6::text[], $7::integer[],
                          $8::smallint[], $9::integer[])::text as done

-- name: keepTotals
-- Adds up what was counted and counts the dead letters, unless somebody else does.
select holdfast.keep_totals()::text as done

-- name: readMetrics
-- Everything that is measured, in one snapshot, from what is kept: never from jobs, their bodies or their history.
select jsonb_build_object(
  'types', (
    select coalesce(jsonb_agg(jsonb_build_object(
      'type', t.name, 'priority', t.priority,
      'enqueued', greatest(coalesce(e.total, 0), c.ended), 'running', coalesce(e.running, 0),
      'completed', c.completed, 'failed', c.failed, 'rescued', c.lost, 'dead', c.dead, 'cancelled', c.cancelled,
      'replayed', c.replayed, 'late', c.late, 'deadLetters', coalesce(d.dead, 0),
      'breakerOpen', coalesce(g.breaker_hold = 'open' or (g.breaker_opened_at is not null and g.breaker_hold = 'auto'), false),
      'paused', g.paused_at is not null,
      'depths', coalesce((select jsonb_agg(jsonb_build_array(p.priority, p.waiting, p.scheduled) order by p.priority)
                          from holdfast.depths as p where p.type_id = t.id), '[]'),
      'durations', coalesce((select jsonb_agg(jsonb_build_array(u.bucket, u.count, u.seconds) order by u.bucket)
                             from holdfast.durations as u where u.type_id = t.id), '[]')
    ) order by t.name), '[]')
    from holdfast.types as t join holdfast.counters as c on c.type_id = t.id
    left join holdfast.enqueued as e on e.type_id = t.id
    left join holdfast.dead_depths as d on d.type_id = t.id
    left join holdfast.gates as g on g.type_id = t.id),
  'oldest', (
    select coalesce(jsonb_agg(jsonb_build_array(o.priority, greatest(0, extract(epoch from holdfast.now() - o.oldest_at)))), '[]')
    from (select priority, min(oldest_at) as oldest_at from holdfast.depths where oldest_at is not null group by priority) as o),
  'lanes', (
    select coalesce(jsonb_agg(jsonb_build_object(
      'lane', l.name, 'slots', l.slots, 'enabled', l.enabled,
      'inUse', (select count(*) from holdfast.lane_slots as s where s.lane_id = l.id)) order by l.name), '[]')
    from holdfast.lanes as l),
  'refusals', (select coalesce(jsonb_agg(jsonb_build_array(e.status, e.total) order by e.status), '[]') from holdfast.enqueue_errors as e),
  'workers', (
    select count(*) from holdfast.workers as w where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes')
) as metrics
