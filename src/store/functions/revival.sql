-- Jobs that had ended and are live again: what a replay and a resume share, and the resume of a cancelled job.

-- Gives a job that is live again the unique key it was created under, and says behind which one it has to wait: the last one
-- that lives and has that key now. Null: behind none. One that waits behind this very job is no reason to wait for it.
create or replace function holdfast.retake_unique(p_job uuid) returns uuid
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_body holdfast.bodies;
  v_taken holdfast.uniques;
  v_lead uuid;
begin
  select * into v_body from holdfast.bodies as b where b.id = p_job;
  v_taken := holdfast.take_unique(
    v_body.type_id, (select holdfast.key_owner(t.shared_keys, v_body.owner) from holdfast.types as t where t.id = v_body.type_id),
    v_body.unique_key, p_job, interval '0');
  if v_taken.job_id is null then
    return null;
  end if;
  v_lead := case when exists (select from holdfast.whereabouts(nullif(v_taken.next_job_id, p_job))) then v_taken.next_job_id
                 when exists (select from holdfast.whereabouts(nullif(v_taken.job_id, p_job))) then v_taken.job_id end;
  if exists (
    with recursive ahead (job_id) as (
      select f.follows from holdfast.following as f where f.job_id = v_lead
      union
      select f.follows from ahead as a join holdfast.following as f on f.job_id = a.job_id
    )
    select from ahead as a where a.job_id = p_job) then
    return null;
  end if;
  update holdfast.uniques as u set job_id = coalesce(v_lead, p_job), next_job_id = case when v_lead is not null then p_job end
  where u.type_id = v_taken.type_id and u.key = v_taken.key and u.owner = v_taken.owner;
  return v_lead;
end $$;

-- Gives jobs that are live again and stand in waiting the unique keys they were created under, and lets those whose key another job stands
-- for now wait behind that one. Returns these. In the order in which enqueues take keys. One by one: the first of two with one key is in
-- front of the second. Who waits behind another has no attempt, so that what an earlier one said of its progress must not outrank the first.
create or replace function holdfast.stand_behind_keys(p_jobs uuid[]) returns uuid[]
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_job uuid;
  v_lead uuid;
  v_behind uuid[] := '{}';
begin
  for v_job in
    select b.id from holdfast.bodies as b where b.id = any (p_jobs) and b.unique_key is not null order by b.type_id, b.unique_key, b.id
  loop
    v_lead := holdfast.retake_unique(v_job);
    if v_lead is not null then
      with held_back as (
        delete from holdfast.waiting as w where w.job_id = v_job returning w.type_id, w.lane_id, w.priority, w.due_at
      )
      insert into holdfast.following (job_id, follows, due_at, type_id, lane_id, priority)
      select v_job, v_lead, coalesce(nullif(h.due_at, 'infinity'), holdfast.now()), h.type_id, h.lane_id, h.priority from held_back as h;
      v_behind := v_behind || v_job;
    end if;
  end loop;
  delete from holdfast.progress as p where p.job_id = any (v_behind);
  return v_behind;
end $$;

-- Why a job cannot be resumed; null: it can. Runs under the lock of its body.
create or replace function holdfast.not_resumable(p_job uuid, p_status text) returns text language sql volatile
set enable_seqscan = off set jit = off
as $$
  select case
    when exists (select from holdfast.cancellations as c where c.job_id = p_job) then 'its handler may still be at work; try again when it has stopped'
    when exists (select from holdfast.members as m join holdfast.tasks as t on t.execution_id = m.group_id and t.name = m.task and t.item = coalesce(m.item, -1)
                 where m.job_id = p_job and t.job_id <> p_job) then 'its execution was resumed, and another job does its task'
    when p_status = 'cancelled' then null
    when p_status = 'completed' then 'it has already completed'
    when p_status = 'dead' then 'it is dead; it can be replayed or discarded'
    when p_status = 'discarded' then 'it was discarded'
    else coalesce((select format('it was already resumed by %s and is %s', m.actor, p_status) from holdfast.moves as m
                   where m.job_id = p_job and m.move = 'resume' order by m.at desc limit 1),
                  format('it is not cancelled but %s', p_status)) end
$$;

-- Takes up a cancelled job: it is due again, with its checkpoint, its steps and the attempt it was cancelled in, or waits for the time it was enqueued
-- for where it never started. Who cancelled it stands in the line that says who resumed it. The attempt that ran when it was cancelled stays in
-- history as handed back: it was not spent. Whoever approved the job did so before it was cancelled, so approval is asked for again, without a deadline.
-- p_confirmed: as in replay_dead. No row: no such job is kept. The lock of its body lets one of two go first, beside a forget too; that of its execution comes before, as in
-- resume_execution, which gives the task of a cancelled job to another one.
create or replace function holdfast.resume_job(p_job uuid, p_actor holdfast.actor, p_confirmed text[] default '{}') returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_body holdfast.bodies;
  v_was text;
  v_because text;
  v_cancelled holdfast.history;
  v_asks boolean := exists (select from holdfast.approval_requests as r where r.job_id = p_job);
  v_run_at timestamptz;
  v_becomes text;
begin
  perform from holdfast.executions as e where e.id = (select m.group_id from holdfast.members as m where m.job_id = p_job and m.kind = 'execution') for share;
  -- Rewritten and not only locked: a sweep that found the body old and waits for this lock would delete a row that is still the same.
  update holdfast.bodies as b set run_at = b.run_at where b.id = p_job returning b.* into v_body;
  select j.status into v_was from holdfast.jobs as j where j.id = p_job;
  if v_was is null then
    return;
  end if;
  v_because := holdfast.not_resumable(p_job, v_was);
  if v_because is not null then
    return query select p_job, false, v_was, v_was, v_because;
    return;
  end if;
  if exists (select from holdfast.types as t where t.id = v_body.type_id and t.sensitive and t.name <> all (p_confirmed)) then
    raise exception 'not confirmed' using errcode = 'HF008',
      detail = (select jsonb_build_array(t.name) from holdfast.types as t where t.id = v_body.type_id);
  end if;
  perform holdfast.hold_order(array(select t.name from holdfast.types as t where t.id = v_body.type_id and v_body.concurrency_key is not null));
  select * into v_cancelled from holdfast.history as h where h.job_id = p_job and h.outcome = 'cancelled';
  update holdfast.history as h set outcome = 'handed_back' where h.job_id = p_job and h.outcome = 'cancelled' and h.started_at is not null;
  delete from holdfast.history as h where h.job_id = p_job and h.outcome = 'cancelled';
  v_run_at := case when v_body.run_at > v_now and not holdfast.has_started(p_job, v_cancelled.attempt) then v_body.run_at end;
  v_becomes := case when v_asks then 'awaiting_approval' when v_run_at is not null then 'scheduled' else 'pending' end;
  insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status, key_position)
  select p_job, case when v_asks then 'infinity' else coalesce(v_run_at, v_now) end, t.id, t.lane_id, v_body.priority, v_cancelled.attempt,
         case when v_asks then 'awaiting_approval' else 'scheduled' end, holdfast.key_position_of(p_job, v_cancelled.attempt)
  from holdfast.types as t where t.id = v_body.type_id;
  insert into holdfast.moves (job_id, at, move, actor, why, before, after)
  values (p_job, v_now, 'resume', p_actor.name, p_actor.why,
          jsonb_strip_nulls(jsonb_build_object(
            'cancelled_at', v_cancelled.ended_at, 'cancelled_by', v_cancelled.error ->> 'by', 'cancelled_why', v_cancelled.error ->> 'why',
            'attempt', v_cancelled.attempt, 'approved_by', (select jsonb_agg(a.actor order by a.at) from holdfast.approvals as a
                                                            where a.job_id = p_job and a.verdict = 'approve'))),
          jsonb_build_object('attempt', v_cancelled.attempt));
  insert into holdfast.event_counts (type_id, what, count) values (v_body.type_id, 'resumed', 1);
  delete from holdfast.approvals as a where a.job_id = p_job;
  update holdfast.approval_requests as r set deadline = null, run_at = v_run_at where r.job_id = p_job;
  -- Whoever resumes it after that wants it to run all the same, as with a replay.
  delete from holdfast.start_deadlines as d where d.job_id = p_job and d.start_by <= v_now;
  if holdfast.stand_behind_keys(array[p_job]) <> '{}' then
    v_becomes := 'blocked';
  elsif v_becomes = 'pending' then
    perform holdfast.make_ready(array[p_job], v_now, true);
  elsif v_becomes = 'scheduled' then
    perform holdfast.wake_lanes(array(select w.lane_id from holdfast.waiting as w where w.job_id = p_job), true);
  end if;
  perform holdfast.after_revival(array[p_job], 'cancelled');
  perform holdfast.audit_moves('resume', array[row (p_job, true, 'cancelled', v_becomes, null)::holdfast.moved],
                               jsonb_build_object('attempt', v_cancelled.attempt), p_actor);
  return query select p_job, true, 'cancelled', v_becomes, null::text;
end $$;
