-- Jobs that somebody has to approve first. Such a job stands in `waiting` as awaiting_approval, due at its deadline or
-- never; nothing runs it before enough people have approved it, or its deadline's policy has.

-- Reads what was asked for, as SQL callers write it: true or {"quorum": 2, "deadline": "2 hours", "on_deadline": "approve"}.
create or replace function holdfast.read_approval(p_asked jsonb) returns jsonb language plpgsql immutable as $$
declare
  v_unknown text;
  v_quorum integer;
  v_deadline interval;
begin
  if p_asked is null or p_asked = 'true' then
    return case when p_asked is not null then jsonb_build_object('quorum', 1, 'on_deadline', 'cancel') end;
  end if;
  if jsonb_typeof(p_asked) <> 'object' then
    raise exception 'approval is %; it is true or an object with quorum, deadline and on_deadline', p_asked using errcode = 'HF002';
  end if;
  select o.key into v_unknown from jsonb_object_keys(p_asked) as o (key) where o.key not in ('quorum', 'deadline', 'on_deadline') limit 1;
  if v_unknown is not null then
    raise exception 'approval.% is not known', v_unknown using errcode = 'HF002', hint = 'Known are quorum, deadline and on_deadline.';
  end if;
  v_quorum := coalesce((p_asked ->> 'quorum')::integer, 1);
  v_deadline := (p_asked ->> 'deadline')::interval;
  if v_quorum not between 1 and 100 then
    raise exception 'approval.quorum is %; it must lie between 1 and 100', v_quorum using errcode = 'HF002';
  end if;
  if v_deadline <= interval '0' or v_deadline > interval '1825 days' then
    raise exception 'approval.deadline is %; it must be positive and at most five years (1825 days)', v_deadline using errcode = 'HF002';
  end if;
  if coalesce(p_asked ->> 'on_deadline', 'cancel') not in ('cancel', 'approve') then
    raise exception 'approval.on_deadline is "%"; it is cancel or approve', p_asked ->> 'on_deadline' using errcode = 'HF002';
  end if;
  return jsonb_strip_nulls(jsonb_build_object('quorum', v_quorum, 'on_deadline', coalesce(p_asked ->> 'on_deadline', 'cancel'),
    'deadline_ms', extract(epoch from v_deadline) * 1000));
end $$;

-- What holds for a job: what its type asks for and what its enqueue asks for, the stricter of the two in each respect. A
-- producer can ask for more care than the type does, never for less.
create or replace function holdfast.approval_rule(p_type jsonb, p_asked jsonb) returns jsonb language sql immutable as $$
  select case when p_type is null then p_asked when p_asked is null then p_type else jsonb_strip_nulls(jsonb_build_object(
    'quorum', greatest((p_type ->> 'quorum')::integer, (p_asked ->> 'quorum')::integer),
    'deadline_ms', least((p_type ->> 'deadline_ms')::double precision, (p_asked ->> 'deadline_ms')::double precision),
    'on_deadline', case when 'cancel' in (p_type ->> 'on_deadline', p_asked ->> 'on_deadline') then 'cancel' else 'approve' end
  )) end
$$;

-- Whether enough people have approved a job, or its deadline has. Also where it needs nobody's word.
create or replace function holdfast.is_approved(p_job uuid) returns boolean language plpgsql stable as $$
begin
  return not exists (
    select from holdfast.approval_requests as r where r.job_id = p_job and r.quorum > (
      select count(*) from holdfast.approvals as a where a.job_id = p_job and a.verdict = 'approve'))
    or exists (select from holdfast.approvals as a where a.job_id = p_job and a.actor = 'holdfast' and a.verdict = 'approve');
end $$;

-- Asks for approval of a job that was given another payload: who has approved it so far has approved something else. What was
-- asked for it before and what the newcomer asks for hold both, the stricter in each respect. Where the payload is the same and
-- nothing stricter is asked, verdicts stand. Returns whether the job has to wait for people (again).
create or replace function holdfast.ask_again(p_job uuid, p_same boolean, p_asked jsonb, p_run_at timestamptz) returns boolean
language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_old holdfast.approval_requests;
  v_rule jsonb;
begin
  select * into v_old from holdfast.approval_requests as r where r.job_id = p_job;
  v_rule := holdfast.approval_rule(
    case when found then jsonb_build_object('quorum', v_old.quorum, 'on_deadline', v_old.on_deadline) end, p_asked);
  if v_rule is null then
    return false;
  elsif p_same and v_old.quorum >= (v_rule ->> 'quorum')::smallint and v_old.on_deadline = v_rule ->> 'on_deadline' then
    update holdfast.approval_requests as r set run_at = p_run_at where r.job_id = p_job;
    return false;
  end if;
  delete from holdfast.approvals as a where a.job_id = p_job;
  insert into holdfast.approval_requests as r (job_id, quorum, deadline, on_deadline, run_at)
  -- Where the newcomer names no deadline, one that cancels is kept. One that approves is not: nobody has seen this payload.
  values (p_job, (v_rule ->> 'quorum')::smallint,
          coalesce(v_now + (p_asked ->> 'deadline_ms')::double precision * interval '1 millisecond',
                   case when v_rule ->> 'on_deadline' = 'cancel' and v_old.deadline > v_now then v_old.deadline end),
          v_rule ->> 'on_deadline', p_run_at)
  on conflict (job_id) do update
    set quorum = excluded.quorum, deadline = excluded.deadline, on_deadline = excluded.on_deadline, run_at = excluded.run_at,
        revision = r.revision + case when p_same then 0 else 1 end;
  return true;
end $$;

-- Who wrote the payload of a job after its enqueue, by replacing it or by a replay with another one; null where nobody did.
create or replace function holdfast.last_writer(p_job uuid) returns text language plpgsql stable as $$
begin
  return (select m.actor from holdfast.moves as m where m.job_id = p_job and m.before ? 'payload' order by m.at desc limit 1);
end $$;

-- Lets jobs go that have been approved: to the time they were to run at, or where they belong now.
create or replace function holdfast.release_approved(p_jobs uuid[]) returns void language plpgsql as $$
declare
  v_later uuid[];
  v_lanes smallint[];
begin
  with put_off as (
    update holdfast.waiting as w set status = 'scheduled', due_at = r.run_at from holdfast.approval_requests as r
    where w.job_id = any (p_jobs) and r.job_id = w.job_id and r.run_at > holdfast.now()
    returning w.job_id, w.lane_id
  )
  select array_agg(p.job_id), array_agg(distinct p.lane_id) into v_later, v_lanes from put_off as p;
  perform holdfast.wake_lanes(v_lanes, true);
  perform holdfast.make_ready(array(select j from unnest(p_jobs) as j where v_later is null or j <> all (v_later)), holdfast.now(), true);
end $$;

-- Ends jobs that nobody is to run, with the reason in history.
create or replace function holdfast.end_unapproved(p_jobs uuid[], p_name text, p_message text, p_actor holdfast.actor) returns void
language sql volatile as $$
  with gone as (
    delete from holdfast.waiting as w where w.job_id = any (p_jobs) returning w.job_id, w.type_id, w.attempt
  ), counted as (
    insert into holdfast.event_counts (type_id, what, count) select g.type_id, 'cancelled', count(*) from gone as g group by g.type_id
  )
  insert into holdfast.history (job_id, ended_at, outcome, attempt, error)
  select g.job_id, holdfast.now(), 'cancelled', g.attempt,
         jsonb_build_object('name', p_name, 'message', p_message, 'by', p_actor.name, 'why', p_actor.why)
  from gone as g;
  select holdfast.record_events(p_jobs, 'cancelled');
  select holdfast.after_end(p_jobs)
$$;

-- Applies the policy to jobs whose deadline has come without a decision. Their rows are locked by the caller.
create or replace function holdfast.apply_deadlines(p_jobs uuid[]) returns void language plpgsql as $$
declare
  v_approve uuid[] := array(select r.job_id from holdfast.approval_requests as r where r.job_id = any (p_jobs) and r.on_deadline = 'approve');
begin
  insert into holdfast.approvals (job_id, actor, verdict, comment, at)
  select j, 'holdfast', case when j = any (v_approve) then 'approve' else 'reject' end, 'nobody had decided by the deadline', holdfast.now()
  from unnest(p_jobs) as j on conflict do nothing;
  if v_approve <> '{}' then
    perform holdfast.release_approved(v_approve);
  end if;
  perform holdfast.end_unapproved(array(select j from unnest(p_jobs) as j where j <> all (v_approve)),
    'NotApproved', 'not approved by its deadline', holdfast.actor('holdfast', 'nobody had decided by the deadline'));
end $$;

-- The verdict of one person. One reject ends the job; it runs once as many different people as its quorum have approved it.
-- p_revision: the revision of the payload that the verdict is about; null: the one that stands when this begins. Where the payload is another by the
-- time the job is locked, the verdict is refused: nobody has seen that one.
create or replace function holdfast.decide_approval(p_job uuid, p_verdict text, p_actor holdfast.actor, p_revision integer default null)
returns table (job_id uuid, done boolean, was text, status text, because text, approvals integer, quorum integer)
language plpgsql
set enable_seqscan = off set jit = off
as $$
#variable_conflict use_column
declare
  v_due timestamptz;
  v_request holdfast.approval_requests;
  v_seen constant integer := coalesce(p_revision, (select r.revision from holdfast.approval_requests as r where r.job_id = p_job));
begin
  job_id := p_job;
  done := false;
  select w.due_at, w.status into v_due, was from holdfast.waiting as w
  where w.job_id = p_job and w.status = 'awaiting_approval' for update;
  -- Read under the lock: whoever replaces the job may ask for more.
  select r.* into v_request from holdfast.approval_requests as r where r.job_id = p_job;
  if v_due <= holdfast.now() then
    perform holdfast.apply_deadlines(array[p_job]);
    because := format('its deadline was %s', v_due);
  elsif was is null then
    select n.was, coalesce(n.because, 'it does not wait for approval') into was, because from holdfast.not_live(p_job) as n;
    because := case when was is not null then because end;
  elsif v_request.revision <> v_seen then
    because := format('the verdict is about revision %s of its payload, and it has revision %s now; look at it again', v_seen, v_request.revision);
  elsif p_verdict = 'reject' then
    insert into holdfast.approvals (job_id, actor, verdict, comment, at) values (p_job, p_actor.name, 'reject', p_actor.why, holdfast.now())
    on conflict on constraint approvals_once do update set verdict = 'reject', comment = p_actor.why, at = holdfast.now();
    perform holdfast.end_unapproved(array[p_job], 'Rejected', format('rejected by %s: %s', p_actor.name, p_actor.why), p_actor);
    done := true;
  elsif holdfast.last_writer(p_job) = p_actor.name then
    because := format('%s wrote its payload, so somebody else has to approve it', p_actor.name);
  else
    insert into holdfast.approvals (job_id, actor, verdict, comment, at) values (p_job, p_actor.name, 'approve', p_actor.why, holdfast.now())
    on conflict do nothing;
    done := found;
    because := case when not done then format('%s has already approved it', p_actor.name) end;
  end if;
  quorum := v_request.quorum;
  approvals := (select count(*) from holdfast.approvals as a where a.job_id = p_job and a.verdict = 'approve');
  if done and p_verdict = 'approve' and approvals >= quorum then
    perform holdfast.release_approved(array[p_job]);
  end if;
  status := (select j.status from holdfast.jobs as j where j.id = p_job);
  if done then
    perform holdfast.audit(p_verdict || '_job', p_job::text, jsonb_build_object('status', was, 'approvals', approvals - (p_verdict = 'approve')::integer),
                           jsonb_build_object('status', status, 'approvals', approvals), p_actor);
  end if;
  return next;
end $$;
