-- What becomes of a job that stands for a unique key: it is looked at, locked (places.sql), or followed. A new body is given to it
-- by renew_job, with what approval asks for.

-- The status of a job, ended or not; null where nothing of it is kept.
create or replace function holdfast.status_of(p_job uuid) returns text
language sql stable
set enable_seqscan = off set jit = off
as $$
  select coalesce(
    (select w.status from holdfast.whereabouts(p_job) as w),
    (select 'dead' from holdfast.dead_letters as d where d.job_id = p_job limit 1),
    (select h.outcome::text from holdfast.history as h
     where h.job_id = p_job and h.outcome in ('completed', 'cancelled', 'discarded') limit 1))
$$;

-- Decides what becomes of a job whose key was taken before, and does it, except for creating the job. Runs under the lock
-- of the key's row. What it decides by is what the standing job is now; where that job must stay so until this transaction
-- ends, it is locked, and where it has moved on meanwhile, it is looked at again.
-- Ten looks at most: the key is locked meanwhile, and a caller who tries again is better than one who holds it and looks.
create or replace function holdfast.resolve_conflict(
  p_taken holdfast.uniques, p_unique holdfast.uniqueness, p_id uuid, p_payload text, p_priority smallint,
  p_max_attempts smallint, p_concurrency_key text, p_approval jsonb, p_due timestamptz, p_lane smallint, p_wake_always boolean, p_owner text
) returns table (job_id uuid, what text)
language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_first uuid;
  v_next uuid;
  v_first_is text;
  v_next_is text;
  v_target uuid;
  v_held record;
  v_ended constant text[] := '{completed,cancelled,dead,discarded}';
  -- For one_more, whether the job in front runs decides: what waits is one more already.
  v_states constant text[] := case p_unique.policy when 'one_more' then array_remove(p_unique.states, 'processing') else p_unique.states end;
begin
  for v_look in 1..10 loop
    v_first := p_taken.job_id;
    v_next := p_taken.next_job_id;
    v_first_is := holdfast.status_of(v_first);
    v_next_is := holdfast.status_of(v_next);
    if v_next is not null and coalesce(v_first_is, 'completed') = any (v_ended) then
      v_first := v_next;
      v_first_is := v_next_is;
      v_next := null;
    elsif coalesce(v_next_is, 'completed') = any (v_ended) then
      v_next := null;
    end if;
    if v_next is null then
      v_next_is := null;
    end if;

    if p_unique.policy in ('reject', 'existing') then
      job_id := case when v_first_is = any (v_states) then v_first when v_next_is = any (v_states) then v_next
                     when p_taken.taken_at + p_unique.period > v_now then coalesce(v_next, v_first) end;
      if job_id is not null and p_unique.policy = 'reject' then
        raise exception 'job % already has this unique key', job_id using errcode = 'HF409', detail = concat_ws(' ', job_id, p_id);
      end if;
      what := 'existing';
      exit;
    end if;
    v_target := case when v_next_is = any (v_states) then v_next when v_first_is = any (v_states) then v_first end;
    if p_unique.policy = 'one_more' and v_target is null and (v_first_is = 'processing' or v_next_is = 'processing') then
      -- Where both run, as after a replay, behind the one that came last.
      v_first := case when v_next_is = 'processing' then v_next else v_first end;
      insert into holdfast.following (job_id, follows, due_at, type_id, lane_id, priority)
      values (p_id, v_first, coalesce(p_due, v_now), p_taken.type_id, p_lane, p_priority);
      update holdfast.uniques as u set job_id = v_first, next_job_id = p_id
      where u.type_id = p_taken.type_id and u.key = p_taken.key and u.owner = p_taken.owner;
      job_id := p_id;
      what := 'queued_behind';
      return next;
      return;
    end if;
    if v_target is null then
      job_id := case when p_taken.taken_at + p_unique.period > v_now then v_first end;
      what := 'existing';
      exit;
    end if;
    select * into v_held from holdfast.lock_waiting(v_target);
    if found and v_held.status = any (v_states) then
      job_id := v_target;
      if p_unique.policy = 'one_more' and v_held.place <> 'following' then
        -- It starts after this transaction, so it is one more already.
        what := 'existing';
      else
        what := case p_unique.policy when 'debounce' then 'debounced' else 'replaced' end;
        perform holdfast.renew_job(
          v_target, case p_unique.policy when 'debounce' then 'debounce' else 'replace' end, p_payload, p_priority,
          p_max_attempts, p_concurrency_key, p_approval,
          case when p_unique.policy <> 'debounce' then coalesce(p_due, v_now)
               when v_held.place = 'waiting' and v_held.status in ('scheduled', 'awaiting_approval', 'blocked')
                 then least(v_now + p_unique.delay,
                            case when p_unique.max_wait is not null then greatest(p_taken.taken_at + p_unique.max_wait, v_now) end) end,
          p_wake_always, p_owner);
      end if;
      exit;
    elsif p_unique.policy <> 'one_more' and holdfast.status_of(v_target) = any (v_states)
          and holdfast.status_of(v_target) = any (v_ended || 'processing'::text) then
      -- It cannot be changed any more, and the caller counts it.
      job_id := v_target;
      what := 'existing';
      exit;
    elsif v_look = 10 then
      raise exception 'job %, which has this unique key, changed ten times while it was read', v_target
        using errcode = '40001', hint = 'Try again.';
    end if;
  end loop;

  if job_id is null then
    update holdfast.uniques as u
    set job_id = p_id, next_job_id = null, taken_at = v_now, kept_until = v_now + coalesce(p_unique.period, interval '0')
    where u.type_id = p_taken.type_id and u.key = p_taken.key and u.owner = p_taken.owner;
    job_id := p_id;
    what := 'created';
  end if;
  return next;
end $$;

-- Starts the jobs that follow these, where these have ended, or lets them wait for their time or for people; a job that waits for its next attempt has not.
-- A follower that is being replaced at this moment is passed over: check_leader sees to it when that is committed.
create or replace function holdfast.start_followers(p_leaders uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_behind constant boolean := holdfast.may_be_behind();
  v_jobs uuid[];
  v_lanes smallint[];
  v_ready holdfast.ready[];
begin
  -- Almost always nobody follows anybody; then this one look is all it costs.
  if not exists (select from holdfast.following) then
    return;
  end if;
  v_jobs := array(
    select f.job_id from holdfast.following as f
    where f.follows = any (p_leaders) and not exists (select from holdfast.whereabouts(f.follows))
    order by f.job_id for update skip locked);
  if v_jobs = '{}' then
    return;
  end if;
  with freed as (
    delete from holdfast.following as f where f.job_id = any (v_jobs)
    returning f.job_id, f.due_at, f.type_id, f.lane_id, f.priority
  ), judged as materialized (
    -- Whoever may see types as they were long ago leaves it to the next tick to find the lane, as in enqueue_jobs.
    select f.*, r.job_id is not null as asks, r.deadline, r.job_id is null and f.due_at <= v_now and not v_behind as is_ready
    from freed as f left join holdfast.approval_requests as r on r.job_id = f.job_id and not holdfast.is_approved(f.job_id)
  ), later as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status, key_position)
    select j.job_id, case when j.asks then coalesce(j.deadline, 'infinity') else greatest(j.due_at, v_now) end, j.type_id, j.lane_id,
           j.priority, 1, case when j.asks then 'awaiting_approval' else 'scheduled' end, holdfast.key_position_of(j.job_id, 1)
    from judged as j where not j.is_ready
  )
  select array_agg(distinct j.lane_id) filter (where not j.is_ready),
         array_agg((j.job_id, j.type_id, j.priority, 1, v_now, null)::holdfast.ready order by j.job_id) filter (where j.is_ready)
  into v_lanes, v_ready from judged as j;
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.put_ready(v_ready, true);
end $$;

-- When a follower is about to be committed: makes sure that whoever ends its leader will see it, by locking the leader's
-- row for the rest of the commit, or starts it where the leader has ended. Locking it earlier would let a producer's long
-- transaction hold up a worker's settling. It never waits for a lock: where somebody holds the leader's row this very
-- moment, the follower is marked unsure and the next promotion looks after it. With the rights of its owner: before PostgreSQL 18 a
-- deferred trigger runs with those of whoever commits, and a producer may not touch jobs.
create or replace function holdfast.check_leader() returns trigger
language plpgsql
set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_place text := (select w.place from holdfast.whereabouts(new.follows) as w);
  v_held boolean;
begin
  if v_place is null then
    perform holdfast.start_followers(array[new.follows]);
    return null;
  elsif v_place = 'stopping' then
    perform from holdfast.cancellations as c where c.job_id = new.follows for update skip locked;
    v_held := found;
  else
    v_held := holdfast.lock_place(new.follows, v_place, true, false);
  end if;
  if not v_held then
    update holdfast.following as f set unsure = true where f.job_id = new.job_id;
    perform holdfast.wake_lanes(array[new.lane_id], true);
  end if;
  return null;
end $$;

do $$ begin
  if not exists (select from pg_trigger where tgname = 'check_leader' and tgrelid = 'holdfast.following'::regclass) then
    create constraint trigger check_leader after insert or update on holdfast.following
      deferrable initially deferred for each row when (not new.unsure) execute function holdfast.check_leader();
  end if;
end $$;
