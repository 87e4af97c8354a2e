-- Bulk actions: what somebody does to all jobs that fit a filter, or to a list of them, as a job that survives whoever carries it out.

-- The next jobs that a bulk action means, newest first. Bulk actions themselves are none of them: they are aborted.
create or replace function holdfast.bulk_candidates(
  p_action text, p_filter jsonb, p_owner text, p_created_before timestamptz, p_cursor uuid, p_limit integer, out ids uuid[], out next uuid
) language plpgsql stable
set enable_seqscan = off set jit = off
as $$
declare
  v_page record;
begin
  select l.* into v_page from holdfast.list_jobs(
    coalesce(p_owner, p_filter ->> 'owner'), p_filter ->> 'type',
    coalesce(p_filter ->> 'status', case when p_action in ('replay', 'discard') then 'dead' when p_action = 'retry' then 'failed or dead'
                                            when p_action = 'resume' then 'cancelled' else 'live' end),
    (p_filter ->> 'created_after')::timestamptz, least(p_created_before, (p_filter ->> 'created_before')::timestamptz), p_filter -> 'payload',
    p_cursor, p_limit, 2000, 2097152,
    case when p_filter ? 'tags' then array(select jsonb_array_elements_text(p_filter -> 'tags')) end,
    p_filter ->> 'lane', p_filter ->> 'concurrency_key', p_filter ->> 'text',
    case when p_filter ? 'readable' then array(select jsonb_array_elements_text(p_filter -> 'readable')) else '{}' end,
    p_filter ->> 'error_group', (p_filter ->> 'batch')::uuid, (p_filter ->> 'ended_after')::timestamptz,
    (p_filter ->> 'ended_before')::timestamptz) as l;
  ids := array(select j.id from unnest(v_page.ids) with ordinality as j (id, ordinal)
               where not exists (select from holdfast.bulk_actions as a where a.id = j.id) order by j.ordinal);
  next := v_page.next;
end $$;

-- Does the action to a portion of jobs. A list of one waits for whoever works on the job; a longer one passes over such jobs.
create or replace function holdfast.do_to_jobs(p_action text, p_jobs uuid[], p_settings jsonb, p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_dead uuid[];
  v_live uuid[];
  v_confirmed constant text[] := array(select jsonb_array_elements_text(coalesce(p_settings -> 'confirmed', '[]')));
  v_unconfirmed constant uuid[] := case when p_action in ('retry', 'replay') then array(
    select d.job_id from holdfast.dead_letters as d join holdfast.types as t on t.id = d.type_id
    where d.job_id = any (p_jobs) and t.sensitive and t.name <> all (v_confirmed)) else '{}' end;
begin
  return query select u, false, 'dead', 'dead', 'its type is sensitive, and was not confirmed' from unnest(v_unconfirmed) as u;
  p_jobs := array(select j from unnest(p_jobs) as j where j <> all (v_unconfirmed));
  if p_jobs = '{}' then
    return;
  end if;
  case p_action
    when 'cancel' then return query select * from holdfast.cancel_jobs(p_jobs, p_actor);
    when 'run-now' then return query select * from holdfast.run_now(p_jobs, p_actor);
    when 'reschedule' then return query select * from holdfast.reschedule_jobs(p_jobs, (p_settings ->> 'run_at')::timestamptz, null, p_actor);
    when 'set-priority' then return query select * from holdfast.set_priority(p_jobs, (p_settings ->> 'priority')::smallint, p_actor);
    when 'replay' then return query select * from holdfast.replay_dead(p_jobs, null, p_actor, v_confirmed);
    when 'discard' then return query select * from holdfast.discard_dead(p_jobs, p_actor);
    when 'bury' then return query select * from holdfast.bury_jobs(p_jobs, p_actor);
    when 'resume' then return query select * from holdfast.resume_jobs(p_jobs, p_actor, v_confirmed);
    when 'retry' then
      v_dead := array(select d.job_id from holdfast.dead_letters as d where d.job_id = any (p_jobs));
      v_live := array(select j from unnest(p_jobs) as j where j <> all (v_dead));
      -- Twice the same one is a list, which waits for nobody: only a portion of one job may wait.
      if cardinality(p_jobs) > 1 then
        v_dead := v_dead || v_dead;
        v_live := v_live || v_live;
      end if;
      if v_dead <> '{}' then
        return query select * from holdfast.replay_dead(v_dead, null, p_actor, v_confirmed);
      end if;
      if v_live <> '{}' then
        return query select * from holdfast.run_now(v_live, p_actor);
      end if;
  end case;
end $$;

-- Resumes cancelled jobs one after the other, because each takes locks of its execution and its keys. As in do_to_jobs, a list passes over those on
-- which somebody works.
create or replace function holdfast.resume_jobs(p_jobs uuid[], p_actor holdfast.actor, p_confirmed text[]) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_job uuid;
begin
  for v_job in select j from unnest(p_jobs) as j order by j loop
    if cardinality(p_jobs) > 1 then
      perform from holdfast.bodies as b where b.id = v_job for update skip locked;
      continue when not found;
    end if;
    if exists (select from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
               where b.id = v_job and t.sensitive and t.name <> all (p_confirmed))
       and (select s.status from holdfast.jobs as s where s.id = v_job) = 'cancelled' then
      return query select v_job, false, 'cancelled', 'cancelled', 'its type is sensitive, and was not confirmed';
    else
      return query select * from holdfast.resume_job(v_job, p_actor, p_confirmed);
    end if;
  end loop;
end $$;

-- Stores a bulk action with the job that carries it out, and drops those that ended 90 days ago.
create or replace function holdfast.create_bulk(
  p_action text, p_filter jsonb, p_jobs uuid[], p_settings jsonb, p_owner text, p_pace real, p_estimate integer, p_at_least boolean,
  p_actor holdfast.actor
) returns uuid
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_id constant uuid := holdfast.new_job_id();
begin
  delete from holdfast.bulk_actions as a where a.ended_at < holdfast.now() - interval '90 days';
  insert into holdfast.bulk_actions (id, action, filter, jobs, settings, owner, actor, why, origin, pace, estimate, at_least, created_at)
  values (v_id, p_action, p_filter, p_jobs,
          case when p_settings ? 'delay_ms' then jsonb_build_object('run_at', holdfast.now() + (p_settings ->> 'delay_ms')::float8 * interval '1 millisecond')
               else p_settings end,
          p_owner, p_actor.name, p_actor.why, p_actor.origin, p_pace, p_estimate, p_at_least, holdfast.now());
  perform holdfast.enqueue('holdfast:bulk', jsonb_build_object('action', p_action), jsonb_build_object('id', v_id));
  perform holdfast.audit('create_bulk', v_id::text, null,
    jsonb_strip_nulls(jsonb_build_object('action', p_action, 'filter', p_filter - 'readable', 'jobs', cardinality(p_jobs), 'settings', p_settings, 'pace', p_pace)),
    p_actor);
  return v_id;
end $$;

-- Does a bulk action to its next portion, in one transaction with how far it has come. Whoever holds its row is alone with it: a worker that lost
-- its lease and the one that took over come one after the other. The lock of the row is taken before those of jobs.
create or replace function holdfast.bulk_portion(p_id uuid, p_limit integer, out more boolean, out taken integer, out matched integer, out estimate integer)
language plpgsql
set enable_seqscan = off set jit = off set lock_timeout = '5s'
as $$
declare
  -- Where the cursor stands when nothing more is to be found.
  v_end constant uuid := '00000000-0000-0000-0000-000000000000';
  v_bulk holdfast.bulk_actions;
  v_ids uuid[];
  v_next uuid;
  v_over boolean := false;
  v_moved holdfast.moved[] := '{}';
  v_gone uuid[] := '{}';
  v_refused jsonb;
begin
  select * into v_bulk from holdfast.bulk_actions as a where a.id = p_id for update;
  more := found and v_bulk.status in ('waiting', 'running');
  taken := 0;
  matched := v_bulk.matched;
  estimate := v_bulk.estimate;
  if not more then
    return;
  end if;
  if v_bulk.held <> '{}' then
    v_ids := v_bulk.held[1:1];
    v_bulk.held := v_bulk.held[2:];
    v_over := coalesce(v_bulk.jobs = '{}', v_bulk.cursor = v_end);
  else
    if v_bulk.jobs is not null then
      v_ids := v_bulk.jobs[1:p_limit];
      v_bulk.jobs := v_bulk.jobs[p_limit + 1:];
      v_over := v_bulk.jobs = '{}';
      v_gone := array(select j from unnest(v_ids) as j where exists (select from holdfast.bulk_actions as a where a.id = j)
        or v_bulk.owner is not null and not exists (select from holdfast.bodies as b where b.id = j and b.owner = v_bulk.owner));
      v_ids := array(select j from unnest(v_ids) as j where j <> all (v_gone));
      v_bulk.matched := v_bulk.matched + cardinality(v_gone);
    else
      select c.ids, c.next into v_ids, v_next
      from holdfast.bulk_candidates(v_bulk.action, v_bulk.filter, v_bulk.owner, v_bulk.created_at, v_bulk.cursor, p_limit) as c;
      v_over := v_next is null;
      v_bulk.cursor := coalesce(v_next, v_end);
    end if;
    v_bulk.matched := v_bulk.matched + cardinality(v_ids);
  end if;
  taken := cardinality(v_ids);
  if taken > 0 then
    begin
      v_moved := array(select m from holdfast.do_to_jobs(v_bulk.action, v_ids, v_bulk.settings, row (v_bulk.actor, v_bulk.why, v_bulk.origin, p_id)::holdfast.actor) as m);
    exception when lock_not_available then
      if taken = 1 then
        v_moved := array[row (v_ids[1], false, 'processing', 'processing', 'somebody else has it locked')::holdfast.moved];
      end if;
    end;
    if taken > 1 then
      v_bulk.held := v_bulk.held || array(select j from unnest(v_ids) as j where not exists (select from unnest(v_moved) as m where m.job_id = j));
    elsif cardinality(v_moved) = 0 then
      v_gone := v_ids;
    end if;
  end if;
  select coalesce(jsonb_object_agg(r.because, r.count + coalesce((v_bulk.refused ->> r.because)::integer, 0)), '{}') into v_refused from (
    select coalesce(m.because, 'it is gone') as because, count(*) as count
    from (select m.because from unnest(v_moved) as m where not m.done union all select 'it is gone' from unnest(v_gone)) as m group by 1
  ) as r;
  more := not v_over or v_bulk.held <> '{}';
  matched := v_bulk.matched;
  update holdfast.bulk_actions as a
  set status = case when bulk_portion.more then 'running' else 'completed' end, matched = v_bulk.matched,
      done = a.done + (select count(*) from unnest(v_moved) as m where m.done), refused = a.refused || v_refused,
      jobs = v_bulk.jobs, cursor = v_bulk.cursor, held = v_bulk.held, started_at = coalesce(a.started_at, holdfast.now()),
      ended_at = case when not bulk_portion.more then holdfast.now() end
  where a.id = p_id;
end $$;

-- Ends a bulk action that has not ended: what is done stays done, and no portion begins any more. False: it had ended. Waits for the portion under way.
create or replace function holdfast.abort_bulk(p_id uuid, p_actor holdfast.actor) returns boolean
language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_was text;
begin
  select a.status into v_was from holdfast.bulk_actions as a where a.id = p_id for update;
  if v_was is null or v_was not in ('waiting', 'running') then
    return false;
  end if;
  update holdfast.bulk_actions as a set status = 'aborted', ended_at = holdfast.now(), aborted_by = p_actor.name, aborted_why = p_actor.why where a.id = p_id;
  perform holdfast.audit('abort_bulk', p_id::text, jsonb_build_object('status', v_was), jsonb_build_object('status', 'aborted'), p_actor);
  return true;
end $$;
