-- name: measureDepths
-- Counts what waits, unless that was done a moment ago. Writes only what changed. Answers how long ago the count was made.
select holdfast.measure_depths() as ago

-- name: depthsUnderLimit
-- The limits these types fall under, with how much waits there.
select scope, name, soft::float8 as soft, hard::float8 as hard, waiting::float8 as waiting, age_ms as age, oldest_ms as oldest
from holdfast.depths_under_limit($1::text[])

-- name: setDepthLimit
-- Sets how much may wait in the queue, a lane or a type. All null takes the limit away.
select holdfast.set_depth_limit($1::text, $2::text, $3::text::bigint, $4::text::bigint, $5::text::float8,
                                holdfast.actor($6::text, $7::text, $8::text))::text as done

-- name: readDepthLimits
-- Every limit of how much may wait, with how much did when it was counted last and for how long. The queue first.
select m.scope, m.name, m.soft::float8 as soft, m.hard::float8 as hard, date_part('epoch', m.oldest) * 1000 as oldest,
       coalesce(sum(d.waiting), 0)::float8 as waiting, date_part('epoch', holdfast.now() - min(d.oldest_at)) * 1000 as age
from holdfast.depth_limits as m
left join (holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id join holdfast.depths as d on d.type_id = t.id)
  on m.scope = 'queue' or (m.scope = 'lane' and m.name = l.name) or (m.scope = 'type' and m.name = t.name)
where m.soft is not null or m.hard is not null or m.oldest is not null
group by m.scope, m.name, m.soft, m.hard, m.oldest
order by array_position(array['queue', 'lane', 'type'], m.scope), m.name
