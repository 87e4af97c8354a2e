-- name: setLimits
-- Changes the named limits of a type; takes effect with the next claim.
select holdfast.set_limits($1::text, $2::text::jsonb, holdfast.actor($3::text, $4::text, $5::text), $6::text::float8 * interval '1 millisecond')::text as done

-- name: releaseLimits
-- Gives limits of a type back to the code; null: all of them.
select holdfast.release_limits($1::text, $2::text[], holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: defineLimits
-- Applies the limits of definitions that changed.
select holdfast.define_limits($1::text[], $2::jsonb[])::text as done

-- name: defineDependencies
-- Applies the limits of defined dependencies that changed.
select holdfast.define_dependencies($1::text[], $2::jsonb[])::text as done

-- name: defineUses
-- Says what types use, where their definitions changed it.
select holdfast.define_uses($1::text[], $2::jsonb[], null)::text as done

-- name: limitDependency
-- Changes the named limits of a dependency, or makes it.
select holdfast.limit_dependency($1::text, $2::text::jsonb, holdfast.actor($3::text, $4::text, $5::text), $6::text::boolean, $7::text::float8 * interval '1 millisecond')::text as done

-- name: releaseDependency
-- Gives limits of a dependency back to the code; null: all of them.
select holdfast.release_dependency($1::text, $2::text[], holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: pauseDependency
-- Jobs of all types that use the dependency wait.
select holdfast.pause_dependency($1::text, holdfast.actor($2::text, $3::text, $4::text), $5::text::float8 * interval '1 millisecond')::text as done

-- name: resumeDependency
-- Lets the types that use a paused dependency run again.
select holdfast.resume_dependency($1::text, holdfast.actor($2::text, $3::text, $4::text))::text as done

-- name: operateDependencyBreaker
-- Opens, closes, holds or releases the breaker of a dependency.
select holdfast.operate_dependency_breaker($1::text, $2::text, holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: pauseType
-- Jobs of the type wait; enqueue goes on.
select holdfast.pause_type($1::text, holdfast.actor($2::text, $3::text, $4::text), $5::text::float8 * interval '1 millisecond')::text as done

-- name: resumeType
-- Lets a paused or stopped type run again.
select holdfast.resume_type($1::text, holdfast.actor($2::text, $3::text, $4::text))::text as done

-- name: pauseKey
-- Jobs of one concurrency key of a type wait.
select holdfast.pause_key($1::text, $2::text, holdfast.actor($3::text, $4::text, $5::text), $6::text::float8 * interval '1 millisecond')::text as done

-- name: resumeKey
-- Lets a paused or stopped key run again.
select holdfast.resume_key($1::text, $2::text, holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: setWeight
-- The share of a key beside the other keys of its type.
select holdfast.set_weight($1::text, $2::text, $3::text::real, holdfast.actor($4::text, $5::text, $6::text))::text as done

-- name: operateBreaker
-- Opens, closes, holds or releases the breaker of a type.
select holdfast.operate_breaker($1::text, $2::text, holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: setLane
-- Changes the named fields of a lane, or makes it.
select holdfast.set_lane($1::text, $2::text::jsonb, holdfast.actor($3::text, $4::text, $5::text), $6::text::boolean,
  $7::text::float8 * interval '1 millisecond')::text as done

-- name: releaseLane
-- Gives fields of a lane back to what it was made with; null: all of them.
select holdfast.release_lane($1::text, $2::text[], holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: seedLane
-- What the environment says of a lane, for one of which no environment has said anything. Answers with what differs otherwise.
select holdfast.seed_lane($1::text, $2::text::jsonb) as differs

-- name: setTypeLane
-- Puts a type into another lane; jobs enqueued from now on go there.
select holdfast.set_type_lane($1::text, $2::text, holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: moveJobsToLane
-- Moves at most $2 waiting jobs of a type to the lane it is in now. Zero: all are there.
select holdfast.move_jobs_to_lane($1::text, $2::text::integer) as moved

-- name: bringStrays
-- Brings at most $1 jobs of each type that changed its lane after it, those committed late too.
select holdfast.bring_strays($1::text::integer) as moved

-- name: repairDrift
-- Compares the next $2 slots, holds, keys and jobs with each other, unless somebody did within $1 ms, and repairs what disagrees.
select what, repaired from holdfast.repair_drift($1::text::float8 * interval '1 millisecond', $2::text::integer)

-- name: takeFleetTurn
-- Takes the turn of the chores of the fleet for $2 ms, where it is free or this worker's.
select holdfast.take_fleet_turn($1::text::integer, $2::text::float8 * interval '1 millisecond') as free_in_ms

-- name: laneStates
-- Every lane with its settings and how full it is. Moments are milliseconds since 1970.
with taken as materialized (select t.lane_id, count(*) as slots from holdfast.taken_slots() as t group by t.lane_id)
select jsonb_build_object(
  'name', l.name, 'slots', l.slots, 'workerSlots', l.worker_slots, 'pollMs', l.poll_ms, 'leaseMs', l.lease_ms,
  'enabled', l.enabled, 'ageingMs', extract(epoch from l.ageing) * 1000,
  -- Where there is a limit, what counts against it; elsewhere what runs.
  'inUse', case when l.slots is not null then (select count(*) from holdfast.lane_slots as s where s.lane_id = l.id)
                else coalesce((select k.slots from taken as k where k.lane_id = l.id), 0) end,
  'types', coalesce((select jsonb_agg(t.name order by t.name) from holdfast.types as t where t.lane_id = l.id), '[]'),
  'overrides', holdfast.overrides(l.defined, l.operator, l.timed, holdfast.now()),
  'changed', case when l.changed_by is not null then
    jsonb_build_object('by', l.changed_by, 'why', l.changed_why, 'at', extract(epoch from l.changed_at) * 1000) end
) as state
from holdfast.lanes as l order by l.id

-- name: laneSlots
-- The jobs that take slots of a lane, the oldest first, at most $2 of them. An unknown lane is refused. Moments are milliseconds since 1970.
select s.job_id::text as job, t.name as type, s.attempt, w.name as worker, s.worker_id as "workerId", s.stopping,
       date_part('epoch', s.claimed_at) * 1000 as since, date_part('epoch', s.expires_at) * 1000 as "leaseUntil"
from holdfast.slots_of_lane($1::text, $2::text::integer) as s join holdfast.types as t on t.id = s.type_id
left join holdfast.workers as w on w.id = s.worker_id order by s.claimed_at, s.job_id

-- name: gateStates
-- The gates of all types, or of one: settings and state. A type that never had one has no row; an unknown one is refused.
select jsonb_build_object(
  'type', t.name, 'maxRunning', g.max_running, 'maxRunningPerKey', g.key_max_running,
  'rate', case when g.rate_count is not null then
    jsonb_build_object('count', g.rate_count, 'perMs', extract(epoch from g.rate_per) * 1000) end,
  'ratePerKey', case when g.key_rate_count is not null then
    jsonb_build_object('count', g.key_rate_count, 'perMs', extract(epoch from g.key_rate_per) * 1000) end,
  'fair', g.fair, 'ordered', g.ordered, 'haltOnDead', g.halt_on_dead, 'held', holdfast.gate_taken(g.type_id, g.key_max_running),
  'paused', case when g.paused_at is not null and (g.paused_until is null or g.paused_until > holdfast.now()) then
    jsonb_build_object('by', g.paused_by, 'why', g.paused_why, 'at', extract(epoch from g.paused_at) * 1000,
                       'until', extract(epoch from g.paused_until) * 1000) end,
  'overrides', holdfast.overrides(g.defined, g.operator, g.timed, holdfast.now()),
  'stoppedUntil', case when g.stopped_until > holdfast.now() then extract(epoch from g.stopped_until) * 1000 end,
  'uses', coalesce((select jsonb_agg(d.name order by d.name) from holdfast.dependencies as d where d.id = any (g.uses)), '[]'),
  'breaker', holdfast.breaker_state(g)
) as state
from holdfast.gates as g join holdfast.types as t on t.id = g.type_id
where $1::text is null or t.id = holdfast.type_named($1::text) order by t.name

-- name: dependencyStates
-- All dependencies, or one: settings, state, and who uses it. An unknown one is refused. Moments are milliseconds since 1970.
select jsonb_build_object(
  'name', d.name, 'types', coalesce((select jsonb_agg(t.name order by t.name) from holdfast.types as t where t.id = any (holdfast.users_of(d.id))), '[]'),
  'maxRunning', g.max_running,
  'rate', case when g.rate_count is not null then
    jsonb_build_object('count', g.rate_count, 'perMs', extract(epoch from g.rate_per) * 1000) end,
  'held', holdfast.dependency_taken(d.id),
  'paused', case when g.paused_at is not null and (g.paused_until is null or g.paused_until > holdfast.now()) then
    jsonb_build_object('by', g.paused_by, 'why', g.paused_why, 'at', extract(epoch from g.paused_at) * 1000,
                       'until', extract(epoch from g.paused_until) * 1000) end,
  'overrides', holdfast.overrides(g.defined, g.operator, g.timed, holdfast.now()),
  'breaker', holdfast.breaker_state(g)
) as state
from holdfast.dependencies as d join holdfast.gates as g on g.type_id = d.id
where $1::text is null or d.id = holdfast.dependency_named($1::text) order by d.name

-- name: keyStates
-- At most a thousand keys of a type that are paused, rest, have halted, or have a weight of their own; or one key. Moments are milliseconds
-- since 1970.
select jsonb_build_object(
  'key', k.concurrency_key, 'weight', k.weight,
  'paused', case when k.paused_at is not null and (k.paused_until is null or k.paused_until > holdfast.now()) then
    jsonb_build_object('by', k.paused_by, 'why', k.paused_why, 'at', extract(epoch from k.paused_at) * 1000,
                       'until', extract(epoch from k.paused_until) * 1000) end,
  'restsUntil', case when k.rests_until > holdfast.now() then extract(epoch from k.rests_until) * 1000 end,
  'halted', case when k.halted_at is not null then jsonb_build_object('job', k.halted_by, 'at', extract(epoch from k.halted_at) * 1000) end
) as state
from holdfast.keys as k
where k.type_id = holdfast.type_named($1::text) and ($2::text is null or k.concurrency_key = $2::text)
  and ($2::text is not null or k.paused_at is not null or k.halted_at is not null or k.weight <> 1 or k.rests_until > holdfast.now())
order by k.concurrency_key limit 1000
