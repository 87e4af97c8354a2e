-- Rescues jobs: when a worker stops renewing a lease, the attempts under that lease end when it runs out, and other workers get the jobs.

-- One line for each earlier attempt of the job during which its host died: the worker, or the thread or process that ran it.
create or replace function holdfast.crashes_before(p_job uuid) returns text[] language sql stable
as $$
  select coalesce(array_agg(format('attempt %s, %s: %s', h.attempt,
    to_char(h.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), h.error ->> 'message') order by h.ended_at), '{}')
  from holdfast.history as h where h.job_id = p_job and h.outcome in ('crashed', 'lease_expired')
$$;

-- Ends the attempts of leases nobody renewed: at most p_limit leases, and no more than it takes to reach p_jobs jobs.
-- Each counts as an attempt with its reason; the job is free again at once and keeps its position in the queue, or dead where that
-- was its last attempt: as poison where its hosts crashed p_crashes times under it.
-- A lease that is being renewed or rescued by somebody else is passed over, and a job that has just been settled is not
-- touched: its row is gone. A job the database refuses to move must not keep the others from being rescued: then the
-- leases go one by one, and the one that fails is taken apart.
create or replace function holdfast.rescue_leases(p_limit integer, p_jobs integer, p_crashes integer default 2)
returns table (job_id uuid, type text, attempt smallint, worker_id integer, dead boolean)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := holdfast.now();
  v_lease holdfast.leases;
  v_leases holdfast.leases[] := '{}';
  v_jobs integer := 0;
  v_lanes smallint[];
begin
  perform pg_advisory_xact_lock_shared(holdfast.settles_lock());
  for v_lease in
    select l.* from holdfast.leases as l where l.expires_at < v_now order by l.expires_at limit p_limit for update skip locked
  loop
    v_leases := v_leases || v_lease;
    v_jobs := v_jobs + cardinality(v_lease.jobs);
    exit when v_jobs >= p_jobs;
  end loop;
  if cardinality(v_leases) = 0 then
    return;
  end if;

  begin
    return query select * from holdfast.end_leases(v_leases, p_crashes);
  exception
    when deadlock_detected or serialization_failure then
      raise;
    when others then
      foreach v_lease in array v_leases loop
        begin
          return query select * from holdfast.end_leases(array[v_lease], p_crashes);
        exception when others then
          raise warning 'holdfast: lease % could not be rescued: %', v_lease.id, sqlerrm;
          perform holdfast.split_lease(v_lease);
        end;
      end loop;
  end;
  select array_agg(l.id) into v_lanes from holdfast.lanes as l;
  perform holdfast.wake_lanes(v_lanes, true);
end $$;

-- Runs under the plan settings of rescue_leases, with the leases locked.
create or replace function holdfast.end_leases(p_leases holdfast.leases[], p_crashes integer)
returns table (job_id uuid, type text, attempt smallint, worker_id integer, dead boolean)
language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_type integer;
  v_types integer[];
  v_priority smallint;
  v_next smallint;
  v_ready_at timestamptz;
  v_seq bigint;
  v_again holdfast.ready[];
  v_lost uuid[];
  v_dead uuid[] := '{}';
begin
  for job_id, type, attempt, worker_id, dead, v_type, v_priority, v_next, v_ready_at, v_seq in
    with held as materialized (
      select l.id, l.worker_id, l.claimed_at, l.expires_at, h.job_id
      from unnest(p_leases) as l, unnest(l.jobs) as h (job_id) order by h.job_id
    ), lost as (
      delete from holdfast.queue as q using held as h where q.job_id = h.job_id and q.lease_id = h.id
      returning q.seq, q.ready_at, q.job_id, q.lease_id, q.type_id, q.priority, q.attempt, q.pass, h.worker_id, h.claimed_at, h.expires_at
    ), judged as materialized (
      select l.*, l.attempt >= coalesce(b.max_attempts, l.attempt) as dead, jsonb_build_object(
        'name', 'LeaseExpired',
        'message', format('worker %s did not renew its lease, which ended at %s', l.worker_id, l.expires_at),
        'fingerprint', holdfast.fingerprint_named('LeaseExpired')
      ) as error
      from lost as l left join holdfast.bodies as b on b.id = l.job_id
    ), recorded as (
      insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt, lease_mark, error)
      select j.job_id, v_now, j.claimed_at, j.worker_id, 'lease_expired', j.attempt, holdfast.lease_mark(j.lease_id), j.error
      from judged as j
    ), counted_attempts as (
      insert into holdfast.attempt_counts as t (type_id, at, worker_id, good, bad, lost)
      select j.type_id, holdfast.attempt_count_step(v_now), j.worker_id, 0, 0, count(*) from judged as j group by j.type_id, j.worker_id
      on conflict on constraint attempt_counts_pkey do update set lost = coalesce(t.lost, 0) + excluded.lost
    ), counted_builds as (
      insert into holdfast.build_counts as c (build_id, type_id, at, completed, failed, lost, dead)
      select w.build_id, j.type_id, date_trunc('minute', v_now), 0, 0, count(*), count(*) filter (where j.dead)
      from judged as j join holdfast.workers as w on w.id = j.worker_id where w.build_id is not null group by w.build_id, j.type_id
      on conflict on constraint build_counts_pkey do update set lost = c.lost + excluded.lost, dead = c.dead + excluded.dead
    ), counted_errors as (
      insert into holdfast.error_counts (type_id, fingerprint, at, job_id, count)
      select j.type_id, j.error ->> 'fingerprint', v_now, (array_agg(j.job_id))[1], count(*) from judged as j group by 1, 2
    ), counted as (
      insert into holdfast.event_counts (type_id, what, count)
      select j.type_id, 'dead', count(*) from judged as j where j.dead group by j.type_id
    ), buried as (
      insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
      select j.job_id, v_now, j.type_id, j.priority, j.attempt, case when known.poison then 'poison' else 'exhausted' end,
             case when known.poison then j.error || jsonb_build_object('crashes', known.crashes) else j.error end
      from judged as j
      cross join lateral (
        select c.crashes || format('attempt %s: %s', j.attempt, j.error ->> 'message') as crashes,
               cardinality(c.crashes) + 1 >= p_crashes as poison
        from holdfast.crashes_before(j.job_id) as c (crashes)
      ) as known
      where j.dead
    )
    select j.job_id, t.name, j.attempt, j.worker_id, j.dead, j.type_id, j.priority, j.attempt + 1, j.ready_at,
           case when j.pass = 0 then j.seq end
    from judged as j join holdfast.types as t on t.id = j.type_id
  loop
    v_lost := v_lost || job_id;
    v_types := v_types || v_type;
    if dead then
      v_dead := v_dead || job_id;
    else
      v_again := v_again || (job_id, v_type, v_priority, v_next, v_ready_at, v_seq)::holdfast.ready;
    end if;
    return next;
  end loop;
  delete from holdfast.leases as l where l.id = any (array(select e.id from unnest(p_leases) as e));
  perform holdfast.put_ready(v_again, true);
  -- A type that kills its workers never reports a failure; its breaker has to hear of it here.
  v_types := holdfast.and_used(v_types);
  perform from holdfast.gates as g where g.type_id = any (v_types) order by g.type_id for update;
  perform holdfast.judge_breaker(t.id) from (select distinct unnest(v_types) as id order by 1) as t;
  if v_dead <> '{}' then
    perform holdfast.halt_keys(v_dead);
  end if;
  perform holdfast.free_slots(v_lost, null);
  perform holdfast.record_events(v_dead, 'dead');
  perform holdfast.record_events(array(select l from unnest(v_lost) as l where l <> all (v_dead)), 'retrying');
  perform holdfast.after_end(v_lost);
end $$;

-- Gives every job of an expired lease an expired lease of its own, so that the one that cannot be moved stands alone.
-- Where it does already, it comes again in a minute.
create or replace function holdfast.split_lease(p_lease holdfast.leases) returns void language plpgsql as $$
begin
  if cardinality(p_lease.jobs) = 1 then
    update holdfast.leases as l set expires_at = holdfast.now() + interval '1 minute' where l.id = p_lease.id;
    return;
  end if;
  with parts as (
    insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
    select nextval('holdfast.lease_seq'), p_lease.worker_id, p_lease.claimed_at, p_lease.expires_at, array[j.id]
    from unnest(p_lease.jobs) as j (id)
    returning id, jobs[1] as job_id
  ), moved as (
    update holdfast.queue as q set lease_id = p.id from parts as p where q.job_id = p.job_id and q.lease_id = p_lease.id
    returning q.type_id, q.lease_id, q.pass
  )
  insert into holdfast.gate_leases (type_id, lease_id, jobs) select m.type_id, m.lease_id, 1 from moved as m where m.pass > 0;
  delete from holdfast.leases as l where l.id = p_lease.id;
end $$;

-- Frees the jobs of leases that this worker holds here and never heard of: the answer to its claim was lost on the way. No
-- handler has seen them, so no attempt is spent and none is recorded. p_known: the leases it did hear of. To be called only
-- while none of its claims is under way.
create or replace function holdfast.release_unacknowledged(p_worker integer, p_known bigint[]) returns integer
language plpgsql
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '4s'
as $$
declare
  v_lease record;
  v_lanes smallint[];
  v_jobs uuid[];
  v_all_jobs uuid[];
begin
  perform pg_advisory_xact_lock_shared(holdfast.settles_lock());
  for v_lease in
    delete from holdfast.leases as l where l.worker_id = p_worker and l.id <> all (p_known) returning l.id, l.jobs
  loop
    with freed as (
      update holdfast.queue as q set lease_id = null, lane_id = t.lane_id, pass = least(q.pass, 1) from holdfast.types as t
      where q.job_id = any (v_lease.jobs) and q.lease_id = v_lease.id and t.id = q.type_id
      returning q.job_id, q.lane_id
    )
    select array_agg(distinct f.lane_id), array_agg(f.job_id) into v_lanes, v_jobs from freed as f;
    v_all_jobs := v_all_jobs || v_jobs;
    perform holdfast.wake_lanes(v_lanes, true);
  end loop;
  perform holdfast.free_slots(v_all_jobs, null);
  return coalesce(cardinality(v_all_jobs), 0);
end $$;
