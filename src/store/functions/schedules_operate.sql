-- What people and programs do to schedules. Each is one function that leaves no half-done state, and has its line in the audit log.

-- Locks the schedule of that name; refuses a name that none has, and with p_revision one that was changed since the caller read that revision.
create or replace function holdfast.lock_schedule(p_name text, p_revision bigint default null) returns holdfast.schedules language plpgsql as $$
declare
  v_schedule holdfast.schedules;
begin
  select * into v_schedule from holdfast.schedules as s where s.name = p_name for update;
  if not found then
    raise exception 'there is no schedule named "%"', p_name using errcode = 'HF404';
  end if;
  if v_schedule.revision <> p_revision then
    raise exception 'the schedule "%" was changed by somebody else meanwhile', p_name using errcode = 'HF006', hint = 'Try again.';
  end if;
  return v_schedule;
end $$;

-- A schedule as the log tells of it: without its payload, which the log would keep for good.
create or replace function holdfast.schedule_facts(p_schedule holdfast.schedules) returns jsonb language sql stable as $$
  select (holdfast.schedule_spec(p_schedule) - 'payload') || jsonb_build_object('paused', p_schedule.paused_at is not null)
$$;

-- Whether two specs tick at the same times.
create or replace function holdfast.same_timing(p_one jsonb, p_other jsonb) returns boolean language sql immutable as $$
  select bool_and(p_one -> f is not distinct from p_other -> f) from unnest('{cron,everyMs,timeZone,start,end}'::text[]) as f
$$;

-- Writes a changed schedule back. From another timing on it ticks by that alone: what the one before had missed is over.
create or replace function holdfast.put_schedule(p_before holdfast.schedules, p_defined jsonb, p_override jsonb) returns holdfast.schedules
language plpgsql as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_new holdfast.schedules;
begin
  update holdfast.schedules as s
  set defined = p_defined, override = nullif(p_override, '{}'), revision = s.revision + 1, next_at = least(s.next_at, v_now),
      handled_to = case when holdfast.same_timing(holdfast.schedule_spec(p_before), p_defined || coalesce(p_override, '{}')) then s.handled_to
                        else greatest(s.handled_to, v_now) end,
      error = null, error_at = null
  where s.id = p_before.id returning * into v_new;
  return v_new;
end $$;

-- Writes the definitions of a set of code, all of it. What an operator changed stays as it is, beside what the code says; what was created at
-- run time and now stands in code keeps how it was as such a change. Schedules of the set that are not among them are marked as gone and go on.
-- Returns what was done about each that is not as it was, and each that is gone.
create or replace function holdfast.define_schedules(p_set text, p_names text[], p_specs jsonb[]) returns table (name text, what text) language plpgsql as $$
declare
  v_now constant timestamptz := holdfast.now();
  v_spec jsonb;
  v_old holdfast.schedules;
  v_kept jsonb;
begin
  perform holdfast.check_types(array(select distinct s ->> 'type' from unnest(p_specs) as s));
  -- Two workers that start together would wait for each other's names in turn.
  for name, v_spec in select d.name, d.spec from unnest(p_names, p_specs) as d (name, spec) order by d.name loop
    what := null;
    insert into holdfast.schedules as s (name, set_name, defined, created_at, created_by, handled_to, next_at)
    values (define_schedules.name, p_set, v_spec, v_now, 'code', v_now, v_now)
    on conflict on constraint schedules_name do nothing;
    if found then
      what := 'created';
      return next;
      continue;
    end if;
    v_old := holdfast.lock_schedule(name);
    if v_old.set_name <> p_set then
      raise exception 'the schedule "%" belongs to the code of "%", and the code of "%" defines it too', name, v_old.set_name, p_set
        using errcode = 'HF006', hint = 'Give one of them another name.';
    end if;
    v_kept := v_old.override;
    if v_old.set_name is null then
      v_kept := (select jsonb_object_agg(f.key, f.value) from jsonb_each(v_old.defined) as f where f.value is distinct from v_spec -> f.key);
    end if;
    if v_old.defined is distinct from v_spec or v_old.set_name is null then
      perform holdfast.put_schedule(v_old, v_spec, v_kept);
      what := case when v_kept is null then 'changed' else 'changed_beside_operator' end;
      return next;
    end if;
    update holdfast.schedules as s set set_name = p_set, gone_since = null
    where s.id = v_old.id and (s.set_name is null or s.gone_since is not null);
  end loop;
  update holdfast.schedules as s set gone_since = v_now where s.set_name = p_set and s.gone_since is null and s.name <> all (p_names);
  return query select s.name, 'gone' from holdfast.schedules as s where s.set_name = p_set and s.gone_since is not null order by s.name;
end $$;

-- Creates a schedule at run time. Its first tick is the first after now.
create or replace function holdfast.create_schedule(p_name text, p_spec jsonb, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_new holdfast.schedules;
begin
  perform holdfast.check_types(array[p_spec ->> 'type']);
  insert into holdfast.schedules (name, defined, created_at, created_by, handled_to, next_at)
  values (p_name, p_spec, holdfast.now(), p_actor.name, holdfast.now(), holdfast.now())
  on conflict on constraint schedules_name do nothing returning * into v_new;
  if not found then
    raise exception 'there is a schedule named "%" already', p_name using errcode = 'HF006', hint = 'Change that one, or take another name.';
  end if;
  perform holdfast.audit('create_schedule', p_name, null, holdfast.schedule_facts(v_new), p_actor);
end $$;

-- Notes who changed a schedule last, and why, in its row and in the audit log.
create or replace function holdfast.note_schedule_change(p_action text, p_old holdfast.schedules, p_new holdfast.schedules, p_actor holdfast.actor)
returns void language plpgsql as $$
begin
  update holdfast.schedules as s set changed_at = holdfast.now(), changed_by = p_actor.name, changed_why = p_actor.why where s.id = p_old.id;
  perform holdfast.audit(p_action, p_old.name, holdfast.schedule_facts(p_old), holdfast.schedule_facts(p_new), p_actor);
end $$;

-- Changes the named fields of a schedule. Of one that stands in code the change is kept beside what the code says, and outlives deploys.
create or replace function holdfast.change_schedule(p_name text, p_revision bigint, p_fields jsonb, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_old constant holdfast.schedules := holdfast.lock_schedule(p_name, p_revision);
  v_new holdfast.schedules;
begin
  perform holdfast.check_types(array[(holdfast.schedule_spec(v_old) || p_fields) ->> 'type']);
  if v_old.set_name is null then
    v_new := holdfast.put_schedule(v_old, v_old.defined || p_fields, null);
  else
    v_new := holdfast.put_schedule(v_old, v_old.defined, (
      select jsonb_object_agg(f.key, f.value) from jsonb_each(coalesce(v_old.override, '{}') || p_fields) as f
      where f.value is distinct from v_old.defined -> f.key));
  end if;
  perform holdfast.note_schedule_change('change_schedule', v_old, v_new, p_actor);
end $$;

-- Takes back what operators changed: the schedule is as the code says.
create or replace function holdfast.reset_schedule(p_name text, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_old constant holdfast.schedules := holdfast.lock_schedule(p_name);
  v_new holdfast.schedules;
begin
  if v_old.override is null then
    return false;
  end if;
  v_new := holdfast.put_schedule(v_old, v_old.defined, null);
  perform holdfast.note_schedule_change('reset_schedule', v_old, v_new, p_actor);
  return true;
end $$;

-- Pauses a schedule: no tick makes a job until it is resumed, or with p_for until that time is over; what it made before goes on. False: it was
-- paused already, and keeps the first name and reason. One that was paused for a time gets the new end.
create or replace function holdfast.pause_schedule(p_name text, p_actor holdfast.actor, p_for interval default null) returns boolean language plpgsql as $$
declare
  v_old constant holdfast.schedules := holdfast.lock_schedule(p_name);
begin
  if v_old.paused_at is not null and v_old.paused_until is null and p_for is null then
    return false;
  end if;
  update holdfast.schedules as s set paused_at = holdfast.now(), paused_by = p_actor.name, paused_why = p_actor.why,
      paused_until = holdfast.now() + p_for, revision = s.revision + 1
  where s.id = v_old.id;
  perform holdfast.audit('pause_schedule', p_name, null, case when p_for is not null then jsonb_build_object('until', holdfast.now() + p_for) end, p_actor);
  return true;
end $$;

-- Lets a schedule tick again, from now on: the ticks of the pause are over. False: it was not paused.
create or replace function holdfast.resume_schedule(p_name text, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_old constant holdfast.schedules := holdfast.lock_schedule(p_name);
begin
  if v_old.paused_at is null then
    return false;
  end if;
  update holdfast.schedules as s
  set paused_at = null, paused_by = null, paused_why = null, paused_until = null, revision = s.revision + 1, next_at = holdfast.now(),
      handled_to = greatest(s.handled_to, holdfast.now())
  where s.id = v_old.id;
  perform holdfast.audit('resume_schedule', p_name, null, null, p_actor);
  return true;
end $$;

-- Makes a job of a schedule now, paused or not, under its overlap policy. The answer is that of fire_schedule.
create or replace function holdfast.run_schedule(p_name text, p_revision bigint, p_job uuid, p_payload text, p_actor holdfast.actor) returns jsonb language plpgsql as $$
declare
  v_schedule constant holdfast.schedules := holdfast.lock_schedule(p_name, p_revision);
  v_held constant uuid := holdfast.cancel_earlier(v_schedule);
  v_fired holdfast.ticks;
begin
  if v_held is not null then
    raise exception 'job % of an earlier tick is held by a transaction, and has to be cancelled first; try again when that has ended', v_held
      using errcode = 'HF006';
  end if;
  select * into v_fired from holdfast.fire_tick(v_schedule, holdfast.now(), 'manual', p_job, p_payload, null);
  update holdfast.schedules as s set last_job = coalesce(v_fired.job_id, s.last_job) where s.id = v_schedule.id;
  perform holdfast.audit('run_schedule', p_name, null, jsonb_build_object('job', v_fired.job_id, 'outcome', v_fired.outcome), p_actor);
  return jsonb_build_object('job', v_fired.job_id, 'outcome', v_fired.outcome, 'in_the_way', v_fired.in_the_way);
end $$;

-- Makes a job of each of these ticks that has none. The overlap policy does not matter: whoever backfills wants all of them.
create or replace function holdfast.backfill_schedule(p_name text, p_revision bigint, p_ticks timestamptz[], p_jobs uuid[], p_payloads text[], p_actor holdfast.actor)
returns jsonb language plpgsql as $$
declare
  v_schedule constant holdfast.schedules := holdfast.lock_schedule(p_name, p_revision);
  v_made jsonb := '[]';
  v_fired holdfast.ticks;
begin
  for v_at in 1 .. cardinality(p_ticks) loop
    select * into v_fired from holdfast.fire_tick(v_schedule, p_ticks[v_at], 'backfill', p_jobs[v_at], p_payloads[v_at], null);
    if v_fired.job_id is not null then
      v_made := v_made || jsonb_build_object('tick', date_part('epoch', v_fired.tick) * 1000, 'job', v_fired.job_id);
    end if;
  end loop;
  perform holdfast.audit('backfill_schedule', p_name, null, jsonb_build_object(
    'from', p_ticks[1], 'to', p_ticks[cardinality(p_ticks)], 'ticks', cardinality(p_ticks), 'jobs', jsonb_array_length(v_made)), p_actor);
  return v_made;
end $$;

-- Removes a schedule and its ticks; its jobs stay. One that stands in code would be back with the next worker that starts, and is refused.
create or replace function holdfast.remove_schedule(p_name text, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_old constant holdfast.schedules := holdfast.lock_schedule(p_name);
begin
  if v_old.set_name is not null and v_old.gone_since is null then
    raise exception 'the schedule "%" is defined in the code of "%"', p_name, v_old.set_name using errcode = 'HF006',
      hint = 'Pause it; or take it out of the code, and prune when a worker has started with that.';
  end if;
  delete from holdfast.schedules as s where s.id = v_old.id;
  perform holdfast.audit('remove_schedule', p_name, holdfast.schedule_facts(v_old), null, p_actor);
end $$;

-- Removes the schedules that are gone from code, and returns their names. With p_dry_run it only returns them.
create or replace function holdfast.prune_schedules(p_dry_run boolean, p_actor holdfast.actor) returns setof text language plpgsql as $$
declare
  v_name text;
begin
  for v_name in select s.name from holdfast.schedules as s where s.gone_since is not null order by s.name for update loop
    if not p_dry_run then
      perform holdfast.remove_schedule(v_name, p_actor);
    end if;
    return next v_name;
  end loop;
end $$;

-- Every schedule, for any SQL client. code says what the code says of the fields that operators changed.
create or replace view holdfast.schedule_overview as
  select s.name, s.id, holdfast.schedule_spec(s) ->> 'type' as type, holdfast.schedule_spec(s) ->> 'cron' as cron,
         ((holdfast.schedule_spec(s) ->> 'everyMs')::double precision * interval '1 millisecond') as every,
         holdfast.schedule_spec(s) ->> 'timeZone' as time_zone,
         case when s.paused_at is not null then 'paused' when s.error is not null then 'failing' when s.next_at = 'infinity' then 'ended' else 'active' end as status,
         s.paused_at, s.paused_by, s.paused_why, case when s.paused_at is null then nullif(s.next_at, 'infinity') end as next_at, s.last_tick, s.last_job,
         s.dropped, s.dropped_to, s.error, s.set_name, s.gone_since, s.created_by, s.created_at, s.changed_by, s.changed_at,
         s.override - 'payload' as changed,
         (select jsonb_object_agg(f.key, f.value) from jsonb_each(s.defined) as f where s.override ? f.key and f.key <> 'payload') as code
  from holdfast.schedules as s;
