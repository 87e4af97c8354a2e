-- Builds: which code a worker runs. What they are told, alone or with all of their build, and how the attempts of one compare with those of another.

-- The build of that name, which is made known where it is not. Null: none was named.
create or replace function holdfast.build_named(p_name text) returns integer language plpgsql as $$
declare
  v_id integer := (select b.id from holdfast.builds as b where b.name = p_name);
begin
  if v_id is null and p_name is not null then
    insert into holdfast.builds as b (name) values (p_name) on conflict (name) do nothing;
    v_id := (select b.id from holdfast.builds as b where b.name = p_name);
  end if;
  return v_id;
end $$;

-- Who told this worker, or the whole of its build, to claim no more, and why. No row: nobody did.
create or replace function holdfast.drain_order(p_worker holdfast.workers) returns table (by text, why text) language sql stable rows 1 as $$
  select p_worker.drain_asked_by, p_worker.drain_asked_why where p_worker.drain_asked_at is not null
  union all
  select b.drain_asked_by, b.drain_asked_why from holdfast.builds as b where b.id = p_worker.build_id and b.drain_asked_at is not null
  limit 1
$$;

-- Tells the workers of a build to claim no more, or to claim again; they hear it at once where notifications reach them, or with their next
-- heartbeat. False: there is no such build.
create or replace function holdfast.drain_build(p_build text, p_drain boolean, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_build holdfast.builds;
begin
  update holdfast.builds as b
  set drain_asked_at = case when p_drain then coalesce(b.drain_asked_at, holdfast.now()) end,
      drain_asked_by = case when p_drain then p_actor.name end, drain_asked_why = case when p_drain then p_actor.why end
  where b.name = p_build returning b.* into v_build;
  if v_build.id is null then
    return false;
  end if;
  perform holdfast.audit(case when p_drain then 'drain_build' else 'resume_build' end, p_build, null, null, p_actor);
  perform pg_notify('holdfast.worker_' || w.id, '') from holdfast.workers as w
  where w.build_id = v_build.id and w.stopped_at is null and w.token_hash is null and w.seen_at > holdfast.now() - interval '3 minutes'
    and holdfast.may_notify();
  return true;
end $$;

-- Tells one worker the same. A row with a build says that this build is drained whole, so that its worker was not resumed. No row: no worker of that id is
-- signed on.
create or replace function holdfast.drain_worker(p_worker integer, p_drain boolean, p_actor holdfast.actor) returns table (drained_build text)
language plpgsql as $$
declare
  v_worker holdfast.workers;
begin
  select w.* into v_worker from holdfast.workers as w where w.id = p_worker and w.stopped_at is null for no key update;
  if v_worker.id is null then
    return;
  end if;
  if not p_drain then
    select b.name into drained_build from holdfast.builds as b where b.id = v_worker.build_id and b.drain_asked_at is not null;
  end if;
  return next;
  if drained_build is not null then
    return;
  end if;
  update holdfast.workers as w
  set drain_asked_at = case when p_drain then coalesce(w.drain_asked_at, holdfast.now()) end,
      drain_asked_by = case when p_drain then p_actor.name end, drain_asked_why = case when p_drain then p_actor.why end
  where w.id = p_worker;
  perform holdfast.audit(case when p_drain then 'drain_worker' else 'resume_worker' end, p_worker::text, null, null, p_actor);
  if v_worker.token_hash is null and v_worker.seen_at > holdfast.now() - interval '3 minutes' and holdfast.may_notify() then
    perform pg_notify('holdfast.worker_' || p_worker, '');
  end if;
end $$;

-- Pins a job that does not exist yet to a build: no worker of another one ever claims it. Waits for claims under way, which do not know of it. False:
-- no worker of that build lives, runs the type and claims, and nothing is pinned.
create or replace function holdfast.pin_job(p_job uuid, p_build text, p_type text, p_for interval) returns boolean language plpgsql as $$
declare
  v_build integer := (select b.id from holdfast.builds as b where b.name = p_build and b.drain_asked_at is null);
begin
  if not p_type = any (holdfast.types_of_build(v_build)) then
    return false;
  end if;
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  insert into holdfast.pins (job_id, build_id, until) values (p_job, v_build, holdfast.now() + p_for);
  return true;
end $$;

-- The names of the types that workers of a build run, of those that live and were not told to drain.
create or replace function holdfast.types_of_build(p_build integer) returns text[] language sql stable as $$
  select array(
    select distinct t.name from holdfast.workers as w cross join unnest(w.types) as k (type_id) join holdfast.types as t on t.id = k.type_id
    where w.build_id = p_build and w.stopped_at is null and w.drain_asked_at is null and w.seen_at > holdfast.now() - interval '1 minute')
$$;

-- Adds attempts that ended to what is counted of builds: [{"build", "type", "completed", "failed", "dead", "runs": [[bucket, count]]}]. Rows are taken
-- in order, so that two notes wait for each other.
create or replace function holdfast.count_builds(p_counts jsonb) returns void language plpgsql as $$
declare
  v_minute timestamptz := date_trunc('minute', holdfast.now());
begin
  if p_counts is null or p_counts = '[]' then
    return;
  end if;
  insert into holdfast.build_counts as c (build_id, type_id, at, completed, failed, lost, dead)
  select n.build_id, n.type_id, v_minute, (n.one ->> 'completed')::integer, (n.one ->> 'failed')::integer, 0, (n.one ->> 'dead')::integer
  from holdfast.noted_builds(p_counts) as n order by n.build_id, n.type_id
  on conflict (build_id, type_id, at) do update
    set completed = c.completed + excluded.completed, failed = c.failed + excluded.failed, dead = c.dead + excluded.dead;
  insert into holdfast.build_runs as r (build_id, type_id, at, bucket, count)
  select n.build_id, n.type_id, v_minute, (u.run ->> 0)::smallint, (u.run ->> 1)::integer
  from holdfast.noted_builds(p_counts) as n cross join lateral jsonb_array_elements(n.one -> 'runs') as u (run)
  order by n.build_id, n.type_id, (u.run ->> 0)::smallint
  on conflict (build_id, type_id, at, bucket) do update set count = r.count + excluded.count;
  perform from holdfast.builds as b where b.id in (select n.build_id from holdfast.noted_builds(p_counts) as n) order by b.id for no key update;
  update holdfast.builds as b set completed = b.completed + n.completed, failed = b.failed + n.failed
  from (
    select n.build_id, sum((n.one ->> 'completed')::integer) as completed, sum((n.one ->> 'failed')::integer) as failed
    from holdfast.noted_builds(p_counts) as n group by n.build_id
  ) as n where b.id = n.build_id;
end $$;

-- A note of count_builds with the ids of what it names. What is not known is left out.
create or replace function holdfast.noted_builds(p_counts jsonb) returns table (build_id integer, type_id integer, one jsonb) language sql stable as $$
  select b.id, t.id, n.one from jsonb_array_elements(p_counts) as n (one)
  join holdfast.builds as b on b.name = n.one ->> 'build' join holdfast.types as t on t.name = n.one ->> 'type'
$$;

-- Forgets what is too old to be compared, and, when samples of their time are gone too, builds of which no worker is known any more: charts mark
-- when each was new. An order to drain stands until somebody takes it back,
-- for workers that start later too.
create or replace function holdfast.sweep_builds() returns void language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
begin
  delete from holdfast.build_counts as c where c.at < v_now - interval '6 hours';
  delete from holdfast.build_runs as r where r.at < v_now - interval '6 hours';
  delete from holdfast.pins as p where p.until < v_now;
  delete from holdfast.builds as b
  where b.first_seen < v_now - interval '35 days' and b.drain_asked_at is null and not exists (select from holdfast.workers as w where w.build_id = b.id);
end $$;

-- How one build did since some time, and until another, by type, with the buckets of how long its attempts took.
create or replace function holdfast.build_attempts(p_build integer, p_from timestamptz, p_to timestamptz)
returns table (type_id integer, counts jsonb)
language sql stable
set jit = off
as $$
  select c.type_id, jsonb_build_object(
    'completed', sum(c.completed), 'failed', sum(c.failed), 'lost', sum(c.lost), 'dead', sum(c.dead),
    'runs', coalesce((select jsonb_agg(jsonb_build_array(u.bucket, u.count) order by u.bucket) from (
      select r.bucket, sum(r.count) as count from holdfast.build_runs as r
      where r.build_id = p_build and r.type_id = c.type_id and r.at >= p_from and r.at < p_to group by r.bucket) as u), '[]'))
  from holdfast.build_counts as c where c.build_id = p_build and c.at >= p_from and c.at < p_to group by c.type_id
$$;

-- What decides whether a build may go on: its workers, its stage, and its attempts beside those of the baseline. p_baseline null: the build with
-- most attempts in the hour before this one began and since. Null: there is no such build.
-- A stage begins when the last of its workers did; the rollout with the first worker of those that were seen in the last minutes.
create or replace function holdfast.canary_facts(p_build text, p_baseline text) returns jsonb
language plpgsql stable
set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_build integer := (select b.id from holdfast.builds as b where b.name = p_build);
  v_baseline integer := (select b.id from holdfast.builds as b where b.name = p_baseline);
  v_types integer[];
  v_began timestamptz;
  v_stage timestamptz;
  v_workers integer;
begin
  if v_build is null or (p_baseline is not null and v_baseline is null) then
    return null;
  end if;
  select min(w.started_at), max(w.started_at) filter (where w.seen_at > v_now - interval '1 minute'),
         count(*) filter (where w.seen_at > v_now - interval '1 minute')
  into v_began, v_stage, v_workers
  from holdfast.workers as w
  where w.build_id = v_build and w.seen_at > v_now - interval '15 minutes' and (w.stopped_at is null or w.started_at > v_now - interval '6 hours');
  v_began := date_trunc('minute', coalesce(v_began, v_now));
  v_stage := date_trunc('minute', coalesce(v_stage, v_began));
  select array_agg(distinct t) into v_types from holdfast.workers as w cross join unnest(w.types) as t where w.build_id = v_build;
  if v_baseline is null then
    v_baseline := (select c.build_id from holdfast.build_counts as c
                   where c.build_id <> v_build and c.type_id = any (v_types) and c.at >= v_began - interval '1 hour'
                   group by c.build_id order by sum(c.completed + c.failed + c.lost) desc, c.build_id desc limit 1);
  end if;
  return jsonb_build_object(
    'build', p_build, 'baseline', (select b.name from holdfast.builds as b where b.id = v_baseline),
    'workers', v_workers,
    'fleet', (select count(*) from holdfast.workers as w
              where w.stopped_at is null and w.seen_at > v_now - interval '1 minute' and w.types && v_types),
    'stageMs', extract(epoch from v_now - v_stage) * 1000,
    'drained', exists (select from holdfast.builds as b where b.id = v_build and b.drain_asked_at is not null),
    'restarts', (select count(*) from holdfast.workers as w where w.build_id = v_build and w.replaced_at > v_now - interval '10 minutes'),
    'types', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'type', t.name, 'canary', s.counts, 'rollout', r.counts, 'alongside', a.counts, 'before', b.counts) order by t.name), '[]')
      from holdfast.types as t
      left join holdfast.build_attempts(v_build, v_stage, 'infinity') as s on s.type_id = t.id
      left join holdfast.build_attempts(v_build, v_began, 'infinity') as r on r.type_id = t.id
      left join holdfast.build_attempts(v_baseline, v_stage, 'infinity') as a on a.type_id = t.id
      left join holdfast.build_attempts(v_baseline, v_began - interval '1 hour', v_began) as b on b.type_id = t.id
      where t.id = any (v_types) and t.name not like 'holdfast:%'));
end $$;
