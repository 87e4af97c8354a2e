-- Pauses and limits that were set for a time. Claims heed the end by themselves, under the lock of the gate; what is here writes it down, so
-- that everybody sees it, and is called by every look at the gates.

-- Pauses a gate that the caller has locked. Whoever pauses it again says anew when it ends, and otherwise keeps the first name and reason.
create or replace function holdfast.pause_gate(p_gate integer, p_actor holdfast.actor, p_for interval) returns void language sql volatile as $$
  update holdfast.gates as g
  set paused_at = holdfast.now(), paused_by = p_actor.name, paused_why = p_actor.why, paused_until = holdfast.now() + p_for,
      ends_at = least(holdfast.now() + p_for, holdfast.first_end(g.timed))
  where g.type_id = p_gate and (g.paused_at is null or g.paused_until is not null or p_for is not null)
$$;

create or replace function holdfast.unpause_gate(p_gate integer) returns void language sql volatile as $$
  update holdfast.gates as g
  set paused_at = null, paused_by = null, paused_why = null, paused_until = null, ends_at = holdfast.first_end(g.timed)
  where g.type_id = p_gate and g.paused_at is not null
$$;

-- Ends what is over of a gate. The caller has locked it. A limit that was set for a time had everything that runs counted, so nothing has to be
-- counted when it ends: the type passed its gate all the while.
create or replace function holdfast.end_over(p_gate integer, p_now timestamptz) returns holdfast.gates language plpgsql as $$
declare
  v_gate holdfast.gates;
  v_before constant jsonb := holdfast.gate_settings(p_gate);
begin
  perform holdfast.unpause_gate(g.type_id) from holdfast.gates as g where g.type_id = p_gate and g.paused_until <= p_now;
  update holdfast.gates as g set timed = holdfast.not_over(g.timed, p_now) where g.type_id = p_gate and holdfast.first_end(g.timed) <= p_now;
  if found then
    perform holdfast.write_limits(p_gate);
  end if;
  perform holdfast.audit('ended_by_time', n.name, v_before, holdfast.gate_settings(p_gate), holdfast.actor('the clock', null, null))
  from (select t.name from holdfast.types as t where t.id = p_gate union all select d.name from holdfast.dependencies as d where d.id = p_gate) as n;
  select * into v_gate from holdfast.gates as g where g.type_id = p_gate;
  return v_gate;
end $$;

-- Ends what is over, of gates and of keys. A gate that somebody has locked is left to the next look, and meanwhile to whoever claims. Of the
-- types that use a dependency no gate is touched, since claims lock the two in the order of their ids.
create or replace function holdfast.end_all_over(p_now timestamptz) returns void language plpgsql as $$
declare
  v_gate integer;
  v_key record;
  v_before jsonb;
begin
  for v_gate in select g.type_id from holdfast.gates as g where g.ends_at <= p_now order by g.type_id for update skip locked loop
    perform holdfast.end_over(v_gate, p_now);
    perform holdfast.review_gate(t.id) from holdfast.types as t where t.id = v_gate;
    perform holdfast.wake_lanes(array(select t.lane_id from holdfast.types as t where t.id = any (holdfast.users_of(v_gate))), true);
  end loop;
  for v_key in
    select k.type_id, k.concurrency_key, t.name from holdfast.keys as k join holdfast.types as t on t.id = k.type_id
    where k.paused_until <= p_now order by k.type_id, k.concurrency_key for update of k skip locked
  loop
    v_before := holdfast.key_settings(v_key.type_id, v_key.concurrency_key);
    update holdfast.keys as k set paused_at = null, paused_by = null, paused_why = null, paused_until = null
    where k.type_id = v_key.type_id and k.concurrency_key = v_key.concurrency_key;
    perform holdfast.audit('ended_by_time', v_key.name || ' ' || v_key.concurrency_key, v_before,
                           holdfast.key_settings(v_key.type_id, v_key.concurrency_key), holdfast.actor('the clock', null, null));
  end loop;
end $$;
