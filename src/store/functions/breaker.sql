-- A type whose attempts mostly fail is stopped before it hurts whoever it calls, and let go again by a probe. So are all types that use
-- one dependency, where most of their attempts fail together.

-- The step of ten seconds that attempts that end now are counted in.
create or replace function holdfast.attempt_count_step(at timestamptz) returns timestamptz language sql immutable parallel safe
as $$ select date_bin('10 seconds', at, 'epoch') $$;

-- Opens the breaker of a type, or of a dependency, whose attempts mostly fail. Called after a failure has been counted.
create or replace function holdfast.judge_breaker(p_type integer) returns void
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_gate holdfast.gates;
  v_types integer[];
  v_good bigint;
  v_bad bigint;
begin
  select * into v_gate from holdfast.gates as g where g.type_id = p_type;
  if v_gate.breaker_opened_at is not null or v_gate.breaker_hold = 'closed' then
    return;
  end if;
  v_types := holdfast.users_of(p_type) || p_type;
  -- A worker that died is one failure of each type it ran, not one for each job: a host that goes down with a hundred jobs
  -- says nothing about them.
  select coalesce(sum(t.good), 0), coalesce(sum(greatest(t.bad, (t.lost > 0)::integer)), 0) into v_good, v_bad
  from holdfast.attempt_counts as t
  where t.type_id = any (v_types)
    and t.at >= holdfast.attempt_count_step(v_now - coalesce(v_gate.breaker_window, interval '5 minutes'))
    and t.at > coalesce(v_gate.breaker_since, '-infinity');
  if v_good + v_bad >= coalesce(v_gate.breaker_minimum, 10) and v_bad > coalesce(v_gate.breaker_share, 0.8) * (v_good + v_bad) then
    perform holdfast.open_breaker(p_type, format('%s of %s attempts failed', v_bad, v_good + v_bad));
  end if;
end $$;

-- Opens a breaker: jobs of the type, or of all types that use the dependency, wait unharmed, one probe at a time goes through.
create or replace function holdfast.open_breaker(p_type integer, p_reason text) returns void
language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
begin
  insert into holdfast.gates as g (type_id, breaker_opened_at, breaker_reason, breaker_probe_at)
  values (p_type, v_now, p_reason, v_now + interval '60 seconds')
  on conflict (type_id) do update
    set breaker_opened_at = v_now, breaker_reason = p_reason, breaker_probe_at = v_now + g.breaker_probe
    where g.breaker_opened_at is null;
  update holdfast.types set gated = true where id = any (holdfast.users_of(p_type) || p_type) and not gated;
end $$;

-- Closes a breaker. What failed before does not count against it any more.
create or replace function holdfast.close_breaker(p_type integer, p_reason text) returns void
language plpgsql as $$
begin
  update holdfast.gates
  set breaker_opened_at = null, breaker_probe_at = null, breaker_reason = p_reason, breaker_since = holdfast.now()
  where type_id = p_type and breaker_opened_at is not null;
end $$;

-- open: trips it now, probes go on. close: closes it now. hold_open, hold_closed: stays so until released. As for a pause, claims under
-- way are waited for.
create or replace function holdfast.operate_breaker(p_type text, p_action text, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_type integer := holdfast.type_named(p_type);
begin
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  perform holdfast.lock_gate(v_type);
  perform holdfast.turn_breaker(v_type, 'breaker_', p_type, p_action, p_actor);
  perform holdfast.review_gate(v_type);
end $$;

-- Does it to the breaker of a gate that the caller has locked, and writes the line of the log.
create or replace function holdfast.turn_breaker(p_gate integer, p_line text, p_name text, p_action text, p_actor holdfast.actor) returns void
language plpgsql as $$
declare
  v_reason text := format('%s by %s%s', case p_action when 'open' then 'opened' when 'close' then 'closed'
    when 'hold_open' then 'held open' when 'hold_closed' then 'held closed' else 'released' end, p_actor.name, coalesce(': ' || p_actor.why, ''));
  v_before jsonb := holdfast.gate_settings(p_gate);
begin
  case p_action
    when 'open' then
      perform holdfast.open_breaker(p_gate, v_reason);
    when 'close' then
      perform holdfast.close_breaker(p_gate, v_reason);
      update holdfast.gates set breaker_hold = 'auto' where type_id = p_gate;
    when 'hold_open' then
      update holdfast.gates set breaker_hold = 'open', breaker_reason = v_reason where type_id = p_gate;
    when 'hold_closed' then
      update holdfast.gates set breaker_hold = 'closed', breaker_reason = v_reason where type_id = p_gate;
    when 'release' then
      update holdfast.gates set breaker_hold = 'auto', breaker_reason = v_reason where type_id = p_gate;
    else
      raise exception '"%" is not an action of a breaker', p_action using errcode = 'HF002',
        hint = 'The actions are open, close, hold_open, hold_closed and release.';
  end case;
  perform holdfast.audit(p_line || p_action, p_name, v_before, holdfast.gate_settings(p_gate), p_actor);
end $$;

-- A breaker as people are shown it. Moments are milliseconds since 1970.
create or replace function holdfast.breaker_state(p_gate holdfast.gates) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'open', p_gate.breaker_hold = 'open' or (p_gate.breaker_opened_at is not null and p_gate.breaker_hold = 'auto'),
    'heldBy', case p_gate.breaker_hold when 'auto' then 'nobody' else 'operator' end, 'reason', p_gate.breaker_reason,
    'openedAt', extract(epoch from p_gate.breaker_opened_at) * 1000, 'nextProbeAt', extract(epoch from p_gate.breaker_probe_at) * 1000,
    'share', p_gate.breaker_share, 'minimum', p_gate.breaker_minimum,
    'windowMs', extract(epoch from p_gate.breaker_window) * 1000, 'probeMs', extract(epoch from p_gate.breaker_probe) * 1000)
$$;
