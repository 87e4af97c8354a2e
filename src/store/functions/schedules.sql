-- Schedules make jobs by the clock. When they tick is computed in TypeScript; what is here makes exactly one job of each tick, whoever
-- fires it, however often and however late. Who locks a schedule does so before any job; nobody who holds a job locks a schedule.

-- A schedule as it counts: what operators changed, and for the rest what it was defined with.
create or replace function holdfast.schedule_spec(p_schedule holdfast.schedules) returns jsonb language sql immutable as $$
  select p_schedule.defined || coalesce(p_schedule.override, '{}')
$$;

-- Ends the pauses whose time is over: ticks since then make jobs. A schedule that somebody has locked is left to the next look.
create or replace function holdfast.end_schedule_pauses(p_now timestamptz) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_over holdfast.schedules;
begin
  for v_over in select * from holdfast.schedules as s where s.paused_until <= p_now order by s.name for update skip locked loop
    update holdfast.schedules as s
    set paused_at = null, paused_by = null, paused_why = null, paused_until = null, revision = s.revision + 1, next_at = p_now,
        handled_to = greatest(s.handled_to, s.paused_until)
    where s.id = v_over.id;
    perform holdfast.audit('resume_schedule', v_over.name, null, null, holdfast.actor('the clock', null, null));
  end loop;
end $$;

-- What is due now, for the worker whose turn it is; null for the others, and where nothing is. next_in_ms: when to ask again; null: nothing is ahead.
-- Where nothing is due it reads the first entry of two indexes, however many schedules there are, and writes nothing.
-- p_hold_ms: for how long the turn lasts, unless the same worker asks again. A turn that ends later than that was taken by a clock
-- that has been set back since.
create or replace function holdfast.due_schedules(p_worker integer, p_limit integer, p_hold_ms integer, out now_ms double precision, out due jsonb, out next_in_ms double precision)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_hold constant interval := p_hold_ms * interval '1 millisecond';
  v_first timestamptz;
  v_turn timestamptz;
  v_over timestamptz;
begin
  now_ms := date_part('epoch', v_now) * 1000;
  if (select s.handled_to from holdfast.schedules as s order by s.handled_to desc limit 1) > v_now + interval '1 second' then
    -- The clock was set back. What was fired meanwhile has its ticks; what was dropped as missed has not, and its time comes again.
    update holdfast.schedules as s set handled_to = v_now, next_at = v_now, revision = s.revision + 1 where s.handled_to > v_now + interval '1 second';
  end if;
  v_over := (select s.paused_until from holdfast.schedules as s where s.paused_until is not null order by s.paused_until limit 1);
  if v_over <= v_now then
    perform holdfast.end_schedule_pauses(v_now);
    v_over := (select s.paused_until from holdfast.schedules as s where s.paused_until > v_now order by s.paused_until limit 1);
  end if;
  v_first := (select s.next_at from holdfast.schedules as s where s.paused_at is null order by s.next_at limit 1);
  if v_first > v_now then
    next_in_ms := case when least(v_first, v_over) < 'infinity' then extract(epoch from least(v_first, v_over) - v_now) * 1000 end;
  elsif v_first is null then
    next_in_ms := extract(epoch from v_over - v_now) * 1000;
  end if;
  if v_first is null or v_first > v_now then
    return;
  end if;
  insert into holdfast.scheduler_turn as t (held_by, held_until) values (p_worker, v_now + v_hold)
  on conflict (one) do update set held_by = excluded.held_by, held_until = excluded.held_until
    where t.held_by = p_worker or t.held_until <= v_now or t.held_until > v_now + v_hold;
  if not found then
    v_turn := (select t.held_until from holdfast.scheduler_turn as t);
    next_in_ms := greatest(50, extract(epoch from v_turn - v_now) * 1000);
    return;
  end if;
  next_in_ms := 0;
  due := (
    select jsonb_agg(to_jsonb(d)) from (
      select s.id, s.name, holdfast.schedule_spec(s) as spec, s.revision::text as revision, s.next_at::text as next_at,
             date_part('epoch', s.handled_to) * 1000 as handled_to,
             coalesce((select t.encrypted from holdfast.types as t where t.name = holdfast.schedule_spec(s) ->> 'type'), false) as encrypted
      from holdfast.schedules as s where s.paused_at is null and s.next_at <= v_now order by s.next_at limit p_limit
    ) as d);
end $$;

-- For the overlap policy cancel, before a tick makes its job: cancels those of the last hundred ticks. Null where none of them lives any more, but for handlers
-- that are still stopping; otherwise one that somebody holds. Nobody waits for it here: the caller holds the schedule, and a scheduler fires a few
-- of all schedules at a time.
create or replace function holdfast.cancel_earlier(p_schedule holdfast.schedules) returns uuid language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_earlier uuid[];
begin
  if holdfast.schedule_spec(p_schedule) ->> 'overlap' is distinct from 'cancel' then
    return null;
  end if;
  v_earlier := array(
    select n.job_id from (select t.job_id from holdfast.ticks as t where t.schedule_id = p_schedule.id order by t.tick desc limit 100) as n
    where exists (select from holdfast.live as l where l.job_id = n.job_id));
  perform holdfast.cancel_jobs(v_earlier, holdfast.actor('schedule ' || p_schedule.name, 'its next tick came', 'schedule'), false);
  return (select l.job_id from holdfast.live as l where l.job_id = any (v_earlier) limit 1);
end $$;

-- Makes the job of one tick, unless the tick was fired before or the overlap policy says otherwise. No row: it was fired before. A backfill also
-- makes a job of a tick that was skipped. The caller has locked the schedule, and cancelled earlier jobs where it has to. The overlap policy stands in for the uniqueness of the type.
create or replace function holdfast.fire_tick(
  p_schedule holdfast.schedules, p_tick timestamptz, p_kind text, p_job uuid, p_payload text, p_due timestamptz
) returns setof holdfast.ticks language plpgsql as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_spec constant jsonb := holdfast.schedule_spec(p_schedule);
  v_overlap constant text := case when p_kind = 'backfill' then 'allow' else v_spec ->> 'overlap' end;
  v_stands uuid;
  v_what text;
  v_made boolean;
begin
  insert into holdfast.ticks as t (schedule_id, tick, kind, outcome, job_id, at) values (p_schedule.id, p_tick, p_kind, 'created', p_job, v_now)
  on conflict on constraint ticks_once do update set kind = excluded.kind, outcome = 'created', job_id = excluded.job_id, in_the_way = null, at = excluded.at
    where p_kind = 'backfill' and t.job_id is null;
  if not found then
    return;
  end if;
  select e.job_id, e.what into v_stands, v_what from holdfast.enqueue_jobs(
    array[p_job], array[v_spec ->> 'type'], array[p_payload], array[(v_spec ->> 'priority')::smallint], array[(v_spec ->> 'maxAttempts')::smallint],
    '{}', case when p_due > v_now then array[p_due] else '{}' end, '{}', array[v_spec ->> 'concurrencyKey'], true, false, true, null,
    array[case v_overlap
      when 'skip' then jsonb_build_object('key', 'schedule ' || p_schedule.id, 'on_conflict', 'existing')::text
      when 'queue' then jsonb_build_object('key', 'schedule ' || p_schedule.id, 'on_conflict', 'one_more')::text
      else 'false' end],
    p_tags => case when jsonb_typeof(v_spec -> 'tags') = 'array'
                   then array[array(select jsonb_array_elements_text(v_spec -> 'tags'))::text] end) as e;
  v_made := coalesce(v_what, 'queued_behind') = 'queued_behind';
  if v_made then
    update holdfast.bodies as b set scheduled_for = p_tick where b.id = p_job;
  end if;
  return query
    update holdfast.ticks as t
    set outcome = case when v_what is null then 'created' when v_made then 'queued' else 'skipped' end, job_id = case when v_made then p_job end,
        in_the_way = case when not v_made then v_stands else (select f.follows from holdfast.following as f where f.job_id = p_job) end
    where t.schedule_id = p_schedule.id and t.tick = p_tick
    returning t.*;
end $$;

-- Fires what was decided about a schedule as it was at that revision and next_at; where it is another by now, nothing happens and there is no answer.
-- Neither is there where a job has to be cancelled that somebody holds; a second later it is due again.
-- The arrays stand side by side, one element a tick. With cancel only the last tick gets a job: those before it would be cancelled at once.
create or replace function holdfast.fire_schedule(
  p_id uuid, p_revision bigint, p_next_at timestamptz, p_ticks timestamptz[], p_dues timestamptz[], p_jobs uuid[], p_payloads text[],
  p_handled_to timestamptz, p_new_next_at timestamptz, p_dropped integer, p_dropped_to timestamptz
) returns jsonb language plpgsql as $$
declare
  v_schedule holdfast.schedules;
  v_fired holdfast.ticks;
  v_last uuid;
  v_held uuid;
  v_all jsonb := '[]';
begin
  select * into v_schedule from holdfast.schedules as s
  where s.id = p_id and s.revision = p_revision and s.next_at = p_next_at and s.paused_at is null for update;
  if not found then
    return null;
  end if;
  if exists (select from unnest(p_ticks[cardinality(p_ticks) :]) as n (tick)
             where not exists (select from holdfast.ticks as t where t.schedule_id = p_id and t.tick = n.tick)) then
    v_held := holdfast.cancel_earlier(v_schedule);
  end if;
  if v_held is not null then
    update holdfast.schedules as s
    set next_at = holdfast.now() + interval '1 second', error = format('job %s of an earlier tick is held by a transaction; it is cancelled when that has ended', v_held),
        error_at = holdfast.now()
    where s.id = p_id;
    return null;
  end if;
  for v_at in 1 .. cardinality(p_ticks) loop
    if v_at < cardinality(p_ticks) and holdfast.schedule_spec(v_schedule) ->> 'overlap' = 'cancel' then
      insert into holdfast.ticks (schedule_id, tick, kind, outcome, at) values (p_id, p_ticks[v_at], 'tick', 'skipped', holdfast.now())
      on conflict on constraint ticks_once do nothing returning * into v_fired;
    else
      select * into v_fired from holdfast.fire_tick(v_schedule, p_ticks[v_at], 'tick', p_jobs[v_at], p_payloads[v_at], p_dues[v_at]);
    end if;
    v_last := coalesce(v_fired.job_id, v_last);
    if v_fired.tick is not null then
      v_all := v_all || jsonb_build_object('tick', date_part('epoch', v_fired.tick) * 1000, 'job', v_fired.job_id, 'outcome', v_fired.outcome);
    end if;
  end loop;
  update holdfast.schedules as s
  set handled_to = p_handled_to, next_at = p_new_next_at, last_tick = coalesce(p_ticks[cardinality(p_ticks)], s.last_tick),
      last_job = coalesce(v_last, s.last_job), dropped = s.dropped + p_dropped, dropped_to = coalesce(p_dropped_to, s.dropped_to),
      error = null, error_at = null
  where s.id = p_id;
  return v_all;
end $$;

-- Notes why a schedule could not be fired and puts it off by a minute, so that it does not keep the others from being fired. Its ticks stay due.
create or replace function holdfast.put_off_schedule(p_id uuid, p_revision bigint, p_next_at timestamptz, p_error text) returns void language sql volatile as $$
  update holdfast.schedules as s set error = p_error, error_at = holdfast.now(), next_at = holdfast.now() + interval '1 minute'
  where s.id = p_id and s.revision = p_revision and s.next_at = p_next_at
$$;

-- Forgets ticks that are long over, at most p_limit. What they were there for, handled_to of their schedule says by then.
create or replace function holdfast.forget_ticks(p_older interval, p_limit integer) returns integer language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_gone integer;
begin
  delete from holdfast.ticks as t where t.ctid = any (array(
    select o.ctid from holdfast.ticks as o where o.at < holdfast.now() - p_older and o.tick < holdfast.now() - p_older
    order by o.at limit p_limit for update skip locked));
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;
