-- Who may run now. Admission through gates.

-- How many jobs of a type without a limit may stand admitted in the queue at once. Enough to keep workers busy; few, so
-- that a pause, a new limit or another key's turn takes effect at once.
create or replace function holdfast.admit_ahead() returns integer language sql immutable as 'select 200';

-- How long a start counts against a rate: a twentieth longer than the rate says, 100 ms at most. Between the claim, which is
-- when a start is counted, and the handler lies a moment that is not always the same; whoever is called sees only the latter.
create or replace function holdfast.rate_window(p_per interval) returns interval language sql immutable parallel safe
as $$ select p_per + least(p_per / 20, interval '100 milliseconds') $$;

-- A start in the future says that the clock was set back since, by that much at least. What waits for starts to grow old goes back with
-- it: it would wait for as long as the clock went back otherwise. No start is forgotten before its time. Runs under the gate's lock.
create or replace function holdfast.follow_clock_back(p_type integer, p_now timestamptz) returns void language plpgsql as $$
declare
  v_back interval := (select s.at from holdfast.starts as s where s.type_id = p_type order by s.at desc limit 1) - p_now;
begin
  -- Those of a claim that is just being counted are not from the future.
  if v_back > interval '1 second' then
    update holdfast.starts as s set at = s.at - v_back where s.type_id = p_type and s.at > p_now;
    update holdfast.keys as k set rests_until = k.rests_until - v_back where k.type_id = p_type and k.rests_until is not null;
  end if;
end $$;

-- Admits jobs of one type as far as its gate is open, under the lock of its row: whatever is counted under it cannot be
-- exceeded. Returns the next moment at which looking again is worth while because of the clock; null where there is none.
-- p_wait: wait for somebody who is admitting right now, instead of leaving it to them.
create or replace function holdfast.admit_type(p_type integer, p_wait boolean) returns timestamptz
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz;
  v_gate holdfast.gates;
  v_probe boolean := false;
  v_running integer;
  v_ahead integer;
  v_started integer;
  v_first timestamptz;
  v_want integer;
  v_next timestamptz;
  v_admitted integer;
begin
  if not exists (select from holdfast.gated as j where j.type_id = p_type) then
    perform holdfast.drop_gate_if_open(p_type);
    return null;
  end if;
  if p_wait then
    select * into v_gate from holdfast.gates as g where g.type_id = p_type for update;
  else
    select * into v_gate from holdfast.gates as g where g.type_id = p_type for update skip locked;
  end if;
  if not found or v_gate.paused_at is not null or v_gate.breaker_hold = 'open' then
    return null;
  end if;
  v_now := holdfast.now();
  if v_gate.rate_count is not null or v_gate.key_rate_count is not null then
    perform holdfast.follow_clock_back(p_type, v_now);
  end if;
  if v_gate.stopped_until > v_now then
    return v_gate.stopped_until;
  end if;
  if v_gate.breaker_opened_at is not null and v_gate.breaker_hold = 'auto' then
    if v_gate.breaker_probe_at > v_now then
      return v_gate.breaker_probe_at;
    end if;
    -- A probe that nobody has claimed yet, since its lane is full or no worker there, is still to come.
    if exists (select from holdfast.admissions as h join holdfast.queue as q on q.job_id = h.job_id
               where h.type_id = p_type and h.lease_id is null and q.pass = 2) then
      return null;
    end if;
    v_probe := true;
  end if;

  -- One statement, one snapshot: a job that is just being claimed counts as waiting or as started, never as neither.
  select count(*), count(*) filter (where h.lease_id is null),
         (select count(*) from holdfast.starts as s where s.type_id = p_type and s.at > v_now - holdfast.rate_window(v_gate.rate_per)),
         (select min(s.at) from holdfast.starts as s where s.type_id = p_type and s.at > v_now - holdfast.rate_window(v_gate.rate_per))
  into v_running, v_ahead, v_started, v_first
  from holdfast.admissions as h where h.type_id = p_type;

  v_want := case when v_probe then 1 else holdfast.admit_ahead() - v_ahead end;
  v_want := least(v_want, v_gate.max_running - v_running);
  if v_gate.rate_count is not null then
    v_want := least(v_want, v_gate.rate_count - v_started - v_ahead);
    v_next := v_first + holdfast.rate_window(v_gate.rate_per);
  end if;
  delete from holdfast.starts where type_id = p_type and at < v_now - holdfast.rate_window(greatest(v_gate.rate_per, v_gate.key_rate_per));
  if v_want <= 0 then
    return v_next;
  end if;

  if v_gate.keyed then
    select a.admitted, least(v_next, a.next_at) into v_admitted, v_next
    from holdfast.admit_by_turn(v_gate, v_want, case when v_probe then 2 else 1 end) as a;
  else
    -- Nobody else reads these where keys are not told apart; should that change, review_gate looks at the jobs themselves.
    delete from holdfast.dirty_keys where type_id = p_type;
    v_admitted := holdfast.admit_in_order(p_type, v_want, case when v_probe then 2 else 1 end);
  end if;

  if v_probe and v_admitted > 0 then
    v_next := v_now + v_gate.breaker_probe;
    update holdfast.gates set breaker_probe_at = v_next where type_id = p_type;
  end if;
  return v_next;
end $$;

-- Lets jobs of a type go straight into the queue again once nothing holds them back and none is left before the gate.
-- A job that is being gated at this very moment is still found by admit_waiting, which looks at the jobs, not at the flag.
-- Where somebody has the gate it is left to the next one who comes by: a claim must not wait for a gate.
create or replace function holdfast.drop_gate_if_open(p_type integer) returns void language plpgsql as $$
begin
  if not (select t.gated from holdfast.types as t where t.id = p_type)
     or exists (select from holdfast.gated as j where j.type_id = p_type) then
    return;
  end if;
  perform from holdfast.gates as g where g.type_id = p_type for update skip locked;
  if not found then
    return;
  end if;
  update holdfast.gates as g set keyed = false
  where g.type_id = p_type and g.keyed and not g.fair and g.key_max_running is null and g.key_rate_count is null
    and not exists (select from holdfast.keys as k where k.type_id = p_type
                    and (k.paused_at is not null or k.rests_until > holdfast.now()));
  update holdfast.types as t set gated = false
  where t.id = p_type and t.gated and not exists (
    select from holdfast.gates as g where g.type_id = p_type and (
      g.max_running is not null or g.rate_count is not null or g.keyed or g.paused_at is not null
      or g.breaker_opened_at is not null or g.breaker_hold = 'open' or g.stopped_until > holdfast.now()));
end $$;

-- Lets the first p_limit jobs of a type through, by rank. Runs under the gate's lock.
create or replace function holdfast.admit_in_order(p_type integer, p_limit integer, p_pass integer) returns integer
language plpgsql as $$
declare
  v_jobs uuid[];
begin
  v_jobs := array(select g.job_id from holdfast.gated as g where g.type_id = p_type order by g.rank, g.job_id limit p_limit for update skip locked);
  perform holdfast.let_through(v_jobs, p_pass);
  return cardinality(v_jobs);
end $$;

-- Moves jobs from their gate into the queue, in the order given, each with a slot. Runs under the gate's lock.
create or replace function holdfast.let_through(p_jobs uuid[], p_pass integer) returns void
language plpgsql as $$
declare
  v_lanes smallint[];
begin
  if p_jobs = '{}' then
    return;
  end if;
  with moved as (
    delete from holdfast.gated as g where g.job_id = any (p_jobs)
    returning g.job_id, g.ready_at, g.rank, g.type_id, g.priority, g.attempt, g.concurrency_key
  ), taken as (
    insert into holdfast.admissions as h (job_id, type_id, concurrency_key) select m.job_id, m.type_id, m.concurrency_key from moved as m
    -- There should be none; but one that was left behind must not keep the whole type from being admitted.
    on conflict (job_id) do update set type_id = excluded.type_id, concurrency_key = excluded.concurrency_key, lease_id = null
  ), queued as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt, pass)
    select m.ready_at, m.job_id, m.type_id, t.lane_id, m.priority, m.attempt, p_pass
    from moved as m join holdfast.types as t on t.id = m.type_id order by m.rank, m.job_id
    returning lane_id
  )
  select array_agg(distinct q.lane_id) into v_lanes from queued as q;
  perform holdfast.wake_lanes(v_lanes, false);
end $$;

-- Lets jobs through key by key: the key whose turn is furthest behind comes first, and each job moves its key's turn on by
-- one part of its weight. Keys that are full, paused or at their rate are set aside until that changes, so that they are
-- not looked at again and again. Runs under the gate's lock.
create or replace function holdfast.admit_by_turn(p_gate holdfast.gates, p_limit integer, p_pass integer, out admitted integer, out next_at timestamptz)
language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_key holdfast.keys;
  v_job uuid;
  v_turn double precision := p_gate.turn;
  v_running integer;
  v_started integer;
  v_first timestamptz;
begin
  admitted := 0;
  with came as (
    delete from holdfast.dirty_keys as a where a.type_id = p_gate.type_id returning a.concurrency_key
  )
  insert into holdfast.keys as k (type_id, concurrency_key, turn, active)
  select distinct p_gate.type_id, c.concurrency_key, p_gate.turn, true from came as c order by 2
  on conflict (type_id, concurrency_key) do update
    set active = true, full_now = false,
        turn = case when k.active and not k.full_now then k.turn else greatest(k.turn, excluded.turn) end
    where not k.active or k.full_now;
  -- Time at rest earns no turns: a key would come back with a right to run alone until it has caught up.
  update holdfast.keys as k set rests_until = null, turn = greatest(k.turn, p_gate.turn)
  where k.type_id = p_gate.type_id and k.rests_until <= v_now;

  while admitted < p_limit loop
    select * into v_key from holdfast.keys as k
    where k.type_id = p_gate.type_id and k.active and not k.full_now and k.rests_until is null and k.paused_at is null
    order by k.turn limit 1;
    exit when not found;

    -- The empty key stands for jobs without one: no limit per key is meant for them.
    if v_key.concurrency_key <> '' then
      select count(*), (select count(*) from holdfast.starts as s where s.type_id = v_key.type_id
                          and s.concurrency_key = v_key.concurrency_key and s.at > v_now - holdfast.rate_window(p_gate.key_rate_per))
                       + count(*) filter (where h.lease_id is null),
             (select min(s.at) from holdfast.starts as s where s.type_id = v_key.type_id
                and s.concurrency_key = v_key.concurrency_key and s.at > v_now - holdfast.rate_window(p_gate.key_rate_per))
      into v_running, v_started, v_first
      from holdfast.admissions as h where h.type_id = v_key.type_id and h.concurrency_key = v_key.concurrency_key;
      if v_running >= p_gate.key_max_running then
        update holdfast.keys set full_now = true
        where type_id = v_key.type_id and concurrency_key = v_key.concurrency_key;
        continue;
      elsif v_started >= p_gate.key_rate_count then
        -- Without a start to wait for, the rate is taken up by jobs that are about to start.
        update holdfast.keys set rests_until = coalesce(v_first + holdfast.rate_window(p_gate.key_rate_per), v_now + interval '200 milliseconds')
        where type_id = v_key.type_id and concurrency_key = v_key.concurrency_key;
        continue;
      end if;
    end if;

    select g.job_id into v_job from holdfast.gated as g
    where g.type_id = v_key.type_id and g.concurrency_key = v_key.concurrency_key order by g.rank, g.job_id limit 1 for update skip locked;
    if not found then
      -- A job that is locked is being replaced in somebody's transaction: the gate does not wait for that.
      update holdfast.keys as k set active = w.waits, rests_until = case when w.waits then v_now + interval '200 milliseconds' end
      from (select exists (select from holdfast.gated as g where g.type_id = v_key.type_id
                             and g.concurrency_key = v_key.concurrency_key) as waits) as w
      where k.type_id = v_key.type_id and k.concurrency_key = v_key.concurrency_key;
      continue;
    end if;
    perform holdfast.let_through(array[v_job], p_pass);
    v_turn := v_key.turn;
    update holdfast.keys set turn = turn + 1 / weight
    where type_id = v_key.type_id and concurrency_key = v_key.concurrency_key;
    admitted := admitted + 1;
  end loop;

  if v_turn > p_gate.turn then
    update holdfast.gates set turn = v_turn where type_id = p_gate.type_id;
  end if;
  select min(k.rests_until) into next_at from holdfast.keys as k
  where k.type_id = p_gate.type_id and k.rests_until is not null and k.paused_at is null;
end $$;

-- Gives back the slots of attempts that the caller has just ended: of their lane, and of their type and key, whose next
-- jobs are admitted in the same breath. p_passed: those of them that came through a gate. Gates are locked in order, so that
-- two settles wait for each other instead of deadlocking.
create or replace function holdfast.free_slots(p_jobs uuid[], p_passed uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_lanes smallint[];
  v_types integer[];
begin
  if exists (select from holdfast.lane_slots) then
    with freed as (
      delete from holdfast.lane_slots as s where s.job_id = any (p_jobs) returning s.lane_id
    )
    select array_agg(distinct f.lane_id) into v_lanes from freed as f
    where exists (select from holdfast.queue as q where q.lane_id = f.lane_id and q.lease_id is null);
    perform holdfast.wake_lanes(v_lanes, false);
  end if;
  if p_passed is null then
    return;
  end if;
  select array_agg(distinct h.type_id order by h.type_id) into v_types from holdfast.admissions as h where h.job_id = any (p_passed);
  perform from holdfast.gates as g where g.type_id = any (v_types) order by g.type_id for update;
  with freed as (
    delete from holdfast.admissions as h where h.job_id = any (p_passed) returning h.type_id, h.concurrency_key
  )
  update holdfast.keys as k set full_now = false, turn = greatest(k.turn, g.turn)
  from (select distinct type_id, concurrency_key from freed) as f join holdfast.gates as g on g.type_id = f.type_id
  where k.type_id = f.type_id and k.concurrency_key = f.concurrency_key and k.full_now;
  perform holdfast.admit_beside(v_types, true);
end $$;
