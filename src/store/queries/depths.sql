-- name: measureDepths
-- Counts what waits, unless that was done a moment ago. Writes only what changed. Answers how long ago the count was made.
select holdfast.measure_depths() as ago

-- name: depthsUnderLimit
-- The limits these types fall under, with how much waits there.
select scope, name, soft::float8 as soft, hard::float8 as hard, waiting::float8 as waiting, age_ms as age, oldest_ms as oldest,
       jsonb_build_object('scheduled', scheduled, 'retrying', retrying, 'unapproved', unapproved, 'blocked', blocked) as counts,
       jsonb_build_object('scheduled', most_scheduled, 'retrying', most_retrying, 'unapproved', most_unapproved, 'blocked', most_blocked) as most, approves
from holdfast.depths_under_limit($1::text[])

-- name: setDepthLimit
-- Sets how much may wait in the queue, a lane or a type. All null takes the limit away.
select holdfast.set_depth_limit($1::text, $2::text, $3::text::bigint, $4::text::bigint, $5::text::float8,
                                holdfast.actor($6::text, $7::text, $8::text), $9::text::jsonb)::text as done

-- name: reservePace
-- Takes the next stretch of time for so many paced jobs of these types. Answers when it begins.
select date_part('epoch', holdfast.reserve_pace($1::text[], $2::text::integer, $3::text::float8)) * 1000 as begins

-- name: readDepthLimits
-- Every limit of how much may wait, with how much did when it was counted last and for how long. The queue first.
select scope, name, soft::float8 as soft, hard::float8 as hard, waiting::float8 as waiting, age_ms as age, oldest_ms as oldest,
       jsonb_build_object('scheduled', scheduled, 'retrying', retrying, 'unapproved', unapproved, 'blocked', blocked) as counts,
       jsonb_build_object('scheduled', most_scheduled, 'retrying', most_retrying, 'unapproved', most_unapproved, 'blocked', most_blocked) as most
from holdfast.depths_under_limit(null)
where num_nonnulls(soft, hard, oldest_ms, most_scheduled, most_retrying, most_unapproved, most_blocked) > 0
order by array_position(array['queue', 'lane', 'type'], scope), name
