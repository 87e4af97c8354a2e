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
                                holdfast.acting($6::text, $8::text), $7::text)::text as done
