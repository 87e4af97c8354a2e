-- The steps of a handler. Each is written by the attempt that holds the lease, and by nobody else.

-- The number of the attempt that holds the lease, with its row locked until the transaction ends, so that neither a rescue nor a settle ends
-- the attempt while it writes. Null: the lease is not its own any more.
create or replace function holdfast.attempt_of(p_job uuid, p_lease bigint) returns smallint
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_attempt smallint;
begin
  select q.attempt into v_attempt from holdfast.queue as q where q.job_id = p_job and q.lease_id = p_lease for update;
  return v_attempt;
end $$;

-- Keeps what a step came to, if that very attempt still holds its lease. False: it does not, and nothing was kept. A second write of the
-- same step changes nothing: the answer to the first was lost.
create or replace function holdfast.save_step(
  p_job uuid, p_lease bigint, p_name text, p_kind text, p_position integer, p_after integer, p_done integer, p_result text
) returns boolean
language plpgsql as $$
declare
  v_attempt smallint := holdfast.attempt_of(p_job, p_lease);
begin
  if v_attempt is null then
    return false;
  end if;
  insert into holdfast.steps (job_id, name, kind, state, position, after, done, result, attempt, at)
  values (p_job, p_name, p_kind, 'completed', p_position, p_after, p_done, p_result::json, v_attempt, holdfast.now())
  on conflict do nothing;
  return true;
end $$;

-- A sleep or the wait for a signal: begins it, or looks whether it is over. The wait takes the oldest signal of its name that no other has
-- taken, in this statement, so each is delivered once; a signal that is there wins over a time that is up. Times are the database's.
-- held: whether the attempt holds its lease; where not, nothing was changed. left_ms: how long it still waits; null: for ever.
-- result: the signal's payload; null: the time is over.
create or replace function holdfast.wait_step(
  p_job uuid, p_lease bigint, p_name text, p_kind text, p_position integer, p_after integer, p_done integer, p_ms double precision,
  out held boolean, out state text, out result text, out left_ms double precision
)
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_attempt smallint := holdfast.attempt_of(p_job, p_lease);
  v_step holdfast.steps;
  v_signal holdfast.signals;
begin
  held := v_attempt is not null;
  if not held then
    return;
  end if;
  select * into v_step from holdfast.steps as s where s.job_id = p_job and s.name = p_name;
  state := v_step.state;
  result := v_step.result::text;
  if state = 'completed' then
    return;
  end if;
  v_step.until := coalesce(v_step.until, v_now + p_ms * interval '1 millisecond', 'infinity');
  if p_kind = 'signal' then
    select * into v_signal from holdfast.signals as g
    where g.job_id = p_job and g.name = split_part(p_name, '#', 1) and g.delivered is null order by g.id limit 1;
  end if;
  if v_signal.id is not null then
    update holdfast.signals as g set delivered = p_position, unsure = false where g.id = v_signal.id;
    result := v_signal.payload::text;
  end if;
  if v_signal.id is not null or v_step.until <= v_now then
    insert into holdfast.steps as s (job_id, name, kind, state, position, after, done, result, until, attempt, at)
    values (p_job, p_name, p_kind, 'completed', p_position, p_after, p_done, result::json, v_step.until, v_attempt, v_now)
    on conflict on constraint steps_once do update
      set state = excluded.state, done = excluded.done, result = excluded.result, attempt = excluded.attempt, at = excluded.at;
    state := 'completed';
    return;
  end if;
  if state is null then
    insert into holdfast.steps (job_id, name, kind, state, position, after, until, attempt, at)
    values (p_job, p_name, p_kind, 'waiting', p_position, p_after, v_step.until, v_attempt, v_now);
    state := 'waiting';
  end if;
  left_ms := case when isfinite(v_step.until) then extract(epoch from v_step.until - v_now) * 1000 end;
end $$;

-- Lets handlers that sleep wake at another time, because somebody has moved their jobs there: otherwise they would go back to sleep.
create or replace function holdfast.end_sleeps(p_jobs uuid[], p_at timestamptz) returns void
language sql volatile
set enable_seqscan = off set jit = off
as $$
  update holdfast.steps as s set until = p_at where s.job_id = any (p_jobs) and s.kind = 'sleep' and s.state = 'waiting'
$$;
