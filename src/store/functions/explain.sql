-- One look at everything that decides when a job may run, in one snapshot.

-- Reads by index only and counts up to a cap, so that it is quick with millions of jobs waiting.
create or replace function holdfast.explain_facts(p_job uuid) returns jsonb
language plpgsql stable
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_type holdfast.types;
  v_lane holdfast.lanes;
  v_gate holdfast.gates;
  v_key holdfast.keys;
  v_body holdfast.bodies;
  v_queue holdfast.queue;
  v_live holdfast.live;
  v_gated boolean;
  v_worker holdfast.workers;
  v_lease holdfast.leases;
  v_facts jsonb;
  v_key_name text;
begin
  select * into v_body from holdfast.bodies as b where b.id = p_job;
  select * into v_live from holdfast.live as l where l.job_id = p_job;
  -- Of these two its position among the others is asked for below.
  select * into v_queue from holdfast.queue as q where q.job_id = p_job;
  v_gated := v_queue.pass > 0 and v_queue.lease_id is null;
  select * into v_type from holdfast.types as t where t.id = coalesce(v_body.type_id, v_live.type_id);
  if not found then
    return holdfast.explain_task(p_job);
  end if;
  select * into v_lane from holdfast.lanes as l where l.id = v_type.lane_id;
  select * into v_gate from holdfast.gates as g where g.type_id = v_type.id;
  v_key_name := coalesce(v_body.concurrency_key, '');
  select * into v_key from holdfast.keys as k where k.type_id = v_type.id and k.concurrency_key = v_key_name;
  select * into v_lease from holdfast.leases as e where e.id = v_queue.lease_id;
  select * into v_worker from holdfast.workers as w where w.id = v_lease.worker_id;

  v_facts := jsonb_build_object(
    'status', (select j.status from holdfast.jobs as j where j.id = p_job),
    'type', v_type.name, 'lane', v_lane.name, 'key', v_body.concurrency_key,
    'workers', (select count(*) from holdfast.workers as w
                where v_type.id = any (w.types) and w.stopped_at is null and w.seen_at > v_now - interval '60 seconds'
                  and not exists (select from holdfast.drain_order(w))),
    'lane_enabled', v_lane.enabled, 'lane_changed_by', v_lane.changed_by, 'lane_changed_why', v_lane.changed_why,
    'lane_slots', v_lane.slots, 'lane_overrides', holdfast.overrides(v_lane.defined, v_lane.operator, v_lane.timed, v_now),
    'lane_drained', case when v_lane.timed ? 'enabled' then jsonb_build_object('until', v_lane.timed -> 'enabled' ->> 'until',
      'in_ms', extract(epoch from (v_lane.timed -> 'enabled' ->> 'until')::timestamptz - v_now) * 1000) end,
    'lane_held_by', (select coalesce(jsonb_agg(s.job_id), '[]') from (
       select job_id from holdfast.lane_slots where lane_id = v_lane.id limit 5) as s),
    'lane_in_use', (select count(*) from holdfast.lane_slots where lane_id = v_lane.id),
    'place', v_live.place, 'gated', coalesce(v_gated, false),
    'follows', v_live.follows,
    'set_aside', (select jsonb_build_object('duty', s.duty, 'error', s.error, 'times', s.times,
                    'again_in_ms', greatest(0, extract(epoch from s.again_at - v_now) * 1000))
                  from holdfast.set_aside as s
                  where s.of = p_job::text or (s.of = v_type.name and s.duty = 'admit' and v_gated) limit 1),
    'due_in_ms', case when v_live.place = 'waiting' and isfinite(v_live.due_at) then extract(epoch from v_live.due_at - v_now) * 1000 end,
    'due_at', case when v_live.place = 'waiting' then v_live.due_at end,
    'version', coalesce(v_body.version, 1), 'type_version', v_type.version,
    -- A worker that does not say which versions it knows takes any.
    'known_version', (select case when bool_and(k.version is not null) then max(k.version) end from holdfast.workers as w cross join unnest(w.types, w.versions) as k (type_id, version)
                      where k.type_id = v_type.id and w.stopped_at is null and w.seen_at > v_now - interval '60 seconds'),
    'start_by', (select d.start_by from holdfast.start_deadlines as d where d.job_id = p_job and not holdfast.has_started(p_job, v_live.attempt)),
    'waits', case when v_live.place = 'waiting' then (
       select jsonb_agg(jsonb_build_object('name', split_part(s.name, '#', 1), 'kind', s.kind) order by s.position)
       from holdfast.steps as s where s.job_id = p_job and s.state = 'waiting') end,
    'rounds', case when v_live.place is not null then (
       select jsonb_build_object('snoozes', r.snoozes, 'hand_backs', r.hand_backs, 'max_snoozes', holdfast.setting('max_snoozes'),
                                 'max_hand_backs', holdfast.setting('max_hand_backs')) from holdfast.rounds_of(p_job) as r) end,
    'worker', v_worker.name, 'claimed_at', v_lease.claimed_at);

  if v_queue.lease_id is null and v_queue.pass = 0 then
    v_facts := v_facts || jsonb_build_object(
      'ahead', (select count(*) from (
         select from holdfast.queue as q where q.lane_id = v_queue.lane_id and q.priority = v_queue.priority
           and q.seq < v_queue.seq and q.pass = 0 and q.lease_id is null limit 10000) as a)
        + (select count(*) from (
         select from holdfast.queue as q where q.lane_id = v_queue.lane_id and q.priority > v_queue.priority
           and q.pass = 0 and q.lease_id is null limit 10000) as a),
      'ended_last_minute', (select coalesce(sum(t.good + t.bad), 0)::int from holdfast.attempt_counts as t
         join holdfast.types as o on o.id = t.type_id where o.lane_id = v_lane.id and t.at > v_now - interval '1 minute'));
  end if;

  if v_gated then
    v_facts := v_facts || jsonb_build_object(
      'paused_by', v_gate.paused_by, 'paused_why', v_gate.paused_why, 'paused_at', v_gate.paused_at, 'paused_until', v_gate.paused_until,
      'paused_over_in_ms', extract(epoch from v_gate.paused_until - v_now) * 1000,
      'overrides', holdfast.overrides(v_gate.defined, v_gate.operator, v_gate.timed, v_now),
      'stopped_in_ms', extract(epoch from v_gate.stopped_until - v_now) * 1000,
      'breaker_hold', v_gate.breaker_hold, 'breaker_opened_at', v_gate.breaker_opened_at, 'breaker_reason', v_gate.breaker_reason,
      'breaker_probe_in_ms', extract(epoch from v_gate.breaker_probe_at - v_now) * 1000,
      'dependencies', case when v_gate.uses <> '{}' then holdfast.dependency_facts(v_gate.uses, v_now) end,
      'max_running', v_gate.max_running,
      'running', holdfast.gate_taken(v_type.id, v_gate.key_max_running),
      'held_by', (select coalesce(jsonb_agg(h.job_id), '[]') from (
         select r.job_id from holdfast.gate_running(v_type.id) as r limit 5) as h),
      'rate_count', v_gate.rate_count, 'rate_per_ms', extract(epoch from v_gate.rate_per) * 1000,
      'rate_used', (select coalesce(sum(s.count), 0) from holdfast.starts as s where s.type_id = v_type.id and s.at > v_now - holdfast.rate_window(v_gate.rate_per)),
      'rate_free_in_ms', extract(epoch from (select min(s.at) from holdfast.starts as s
         where s.type_id = v_type.id and s.at > v_now - holdfast.rate_window(v_gate.rate_per)) + holdfast.rate_window(v_gate.rate_per) - v_now) * 1000,
      'key_rate_count', v_gate.key_rate_count, 'key_rate_per_ms', extract(epoch from v_gate.key_rate_per) * 1000,
      'key_rate_used', (select coalesce(sum(s.count), 0) from holdfast.starts as s where s.type_id = v_type.id and s.concurrency_key = v_key_name
           and s.at > v_now - holdfast.rate_window(v_gate.key_rate_per)),
      'key_rate_free_in_ms', extract(epoch from (select min(s.at) from holdfast.starts as s
         where s.type_id = v_type.id and s.concurrency_key = v_key_name and s.at > v_now - holdfast.rate_window(v_gate.key_rate_per))
         + holdfast.rate_window(v_gate.key_rate_per) - v_now) * 1000,
      'key_paused_by', v_key.paused_by, 'key_paused_why', v_key.paused_why,
      'key_paused_until', v_key.paused_until, 'key_paused_over_in_ms', extract(epoch from v_key.paused_until - v_now) * 1000,
      'key_rests_in_ms', extract(epoch from v_key.rests_until - v_now) * 1000,
      'key_max_running', v_gate.key_max_running,
      'key_running', (select count(*) from holdfast.gate_running(v_type.id) as r where r.concurrency_key = v_key_name),
      'key_held_by', (select coalesce(jsonb_agg(h.job_id), '[]') from (
         select r.job_id from holdfast.gate_running(v_type.id) as r where r.concurrency_key = v_key_name limit 5) as h),
      'keyed', v_gate.keyed,
      'key_halted_by', v_key.halted_by, 'key_halted_at', v_key.halted_at,
      'key_holder', case when v_gate.ordered and v_key_name <> '' then (
         select jsonb_build_object('job', h.job_id, 'status', h.status, 'due_at', case when isfinite(h.due_at) then h.due_at end)
         from holdfast.holder_of_key(v_type.id, v_key_name) as h where h.job_id <> p_job) end,
      'ahead', (select count(*) from (
         select from holdfast.queue as q where q.type_id::bigint = v_type.id and q.pass > 0 and q.lease_id is null and q.seq < v_queue.seq
           and (not v_gate.keyed or q.concurrency_key = v_key_name) limit 10000) as a));
  end if;
  return v_facts;
end $$;
