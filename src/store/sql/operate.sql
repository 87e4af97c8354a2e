-- name: setLimits
-- Changes the named limits of a type; takes effect with the next admission.
select holdfast.set_limits($1::text, $2::text::jsonb)::text as done

-- name: defineLimits
-- Applies the limits of definitions that changed.
select holdfast.define_limits($1::text[], $2::jsonb[])::text as done

-- name: pauseType
-- Jobs of the type wait; enqueue goes on.
select holdfast.pause_type($1::text, $2::text, $3::text)::text as done

-- name: resumeType
-- Lets a paused or stopped type run again.
select holdfast.resume_type($1::text)::text as done

-- name: pauseKey
-- Jobs of one concurrency key of a type wait.
select holdfast.pause_key($1::text, $2::text, $3::text, $4::text)::text as done

-- name: resumeKey
-- Lets a paused or stopped key run again.
select holdfast.resume_key($1::text, $2::text)::text as done

-- name: setWeight
-- The share of a key beside the other keys of its type.
select holdfast.set_weight($1::text, $2::text, $3::text::real)::text as done

-- name: operateBreaker
-- Opens, closes, holds or releases the breaker of a type.
select holdfast.operate_breaker($1::text, $2::text, $3::text, $4::text)::text as done

-- name: setLane
-- Changes the named fields of a lane, or makes it.
select holdfast.set_lane($1::text, $2::text::jsonb, $3::text, $4::text, $5::text::boolean)::text as done

-- name: setTypeLane
-- Puts a type into another lane; jobs enqueued from now on go there.
select holdfast.set_type_lane($1::text, $2::text)::text as done

-- name: moveJobsToLane
-- Moves at most $2 waiting jobs of a type to the lane it is in now. Zero: all are there.
select holdfast.move_jobs_to_lane($1::text, $2::text::integer) as moved

-- name: bringStrays
-- Brings at most $1 jobs of each type that changed its lane after it, those committed late too.
select holdfast.bring_strays($1::text::integer) as moved

-- name: readFlowLanes
-- Every lane with its settings and how full it is.
select l.name, l.slots, l.worker_slots, l.poll_ms, l.lease_ms, l.enabled, date_part('epoch', l.ageing) * 1000 as ageing_ms,
       l.changed_by, l.changed_why, date_part('epoch', l.changed_at) * 1000 as changed_at,
       (select count(*) from holdfast.lane_slots as s where s.lane_id = l.id)::integer as in_use,
       (select jsonb_agg(t.name order by t.name) from holdfast.types as t where t.lane_id = l.id) as types
from holdfast.lanes as l order by l.id

-- name: readGate
-- The gate of one type with its settings and state. No row: the type never had one.
select t.name as type, t.gated, g.max_running, g.key_max_running, g.rate_count, date_part('epoch', g.rate_per) * 1000 as rate_per_ms,
       g.key_rate_count, date_part('epoch', g.key_rate_per) * 1000 as key_rate_per_ms, g.fair,
       date_part('epoch', g.paused_at) * 1000 as paused_at, g.paused_by, g.paused_why,
       case when g.stopped_until > holdfast.now() then date_part('epoch', g.stopped_until) * 1000 end as stopped_until,
       g.breaker_hold, date_part('epoch', g.breaker_opened_at) * 1000 as breaker_opened_at, g.breaker_reason,
       date_part('epoch', g.breaker_probe_at) * 1000 as breaker_probe_at, g.breaker_share, g.breaker_minimum,
       date_part('epoch', g.breaker_window) * 1000 as breaker_window_ms, date_part('epoch', g.breaker_probe) * 1000 as breaker_probe_ms,
       (select count(*) from holdfast.held as h where h.type_id = g.type_id)::integer as held
from holdfast.gates as g join holdfast.types as t on t.id = g.type_id where t.name = $1::text
