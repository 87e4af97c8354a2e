-- Slots of lanes, leases that gates count and keys before gates are written beside the jobs they stand for. Should the two ever disagree,
-- a lane stands still for ever, or more runs than may. What disagrees is found here, repaired and counted. It should be nothing.

-- What disagrees about these jobs. One statement, one snapshot: whatever moves a job writes all of it in one transaction, so a job that
-- is just being claimed or settled agrees before and after.
create or replace function holdfast.drift_of_jobs(p_jobs uuid[]) returns setof holdfast.drift
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select d.what, j.id, coalesce(q.type_id, f.type_id), coalesce(b.concurrency_key, ''),
         coalesce(s.lane_id, q.lane_id, f.lane_id)
  from (select distinct unnest(p_jobs) as id) as j
  left join holdfast.queue as q on q.job_id = j.id
  left join holdfast.lane_slots as s on s.job_id = j.id
  left join holdfast.cancellations as c on c.job_id = j.id
  left join holdfast.following as f on f.job_id = j.id
  left join holdfast.bodies as b on b.id = j.id and q.pass > 0
  left join holdfast.lanes as l on l.id = q.lane_id
  left join holdfast.leases as e on e.id = q.lease_id
  left join holdfast.gate_leases as g on g.type_id = q.type_id and g.lease_id = q.lease_id
  cross join lateral (values
    ('lane_slot_left', s.job_id is not null and q.lease_id is null and c.job_id is null),
    ('lane_slot_missing', s.job_id is null and q.lease_id is not null and l.slots is not null),
    ('gate_lease_missing', q.pass > 0 and q.lease_id is not null and g.lease_id is null),
    ('key_differs', q.pass > 0 and b.id is not null and q.concurrency_key <> coalesce(b.concurrency_key, '')),
    ('lease_missing', q.lease_id is not null and e.id is null),
    ('leader_missing', f.job_id is not null and not f.unsure and not exists (select from holdfast.whereabouts(f.follows)))
  ) as d (what, so)
  where d.so
$$;

-- Everything that disagrees in the whole database, recomputed from the jobs themselves: for tests, and for people who want to know.
-- Reads all that is live; repair_drift looks at the same a piece at a time.
create or replace function holdfast.find_drift() returns setof holdfast.drift
language sql stable as $$
  select * from holdfast.drift_of_jobs(array(
    select l.job_id from holdfast.live as l union all select s.job_id from holdfast.lane_slots as s))
$$;

-- Repairs what was found, where it still disagrees once nobody claims or settles any more: a job that is being claimed at
-- this very moment keeps its slot, and one whose row somebody holds (completeWith, until its caller commits) waits for the next look.
-- Returns what it repaired.
create or replace function holdfast.mend_drift(p_found holdfast.drift[]) returns setof holdfast.drift
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_found holdfast.drift[];
  v_jobs constant uuid[] := array(select distinct f.job_id from unnest(p_found) as f);
  v_held uuid[];
begin
  perform pg_advisory_xact_lock(holdfast.settles_lock());
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  perform from holdfast.gates as g where g.type_id = any (array(select d.type_id from unnest(p_found) as d)) order by g.type_id for update;
  v_held := array(select q.job_id from holdfast.queue as q where q.job_id = any (v_jobs) for update skip locked);
  v_found := array(select d from holdfast.drift_of_jobs(array(
    select j.id from unnest(v_jobs) as j (id)
    where j.id = any (v_held) or not exists (select from holdfast.queue as q where q.job_id = j.id))) as d);
  insert into holdfast.lane_slots (job_id, lane_id)
  select d.job_id, d.lane_id from unnest(v_found) as d where d.what = 'lane_slot_missing' on conflict do nothing;
  update holdfast.queue as q set concurrency_key = d.concurrency_key
  from unnest(v_found) as d where d.what = 'key_differs' and q.job_id = d.job_id;
  insert into holdfast.gate_leases (type_id, lease_id, jobs)
  select q.type_id, q.lease_id, count(*) from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id
  where d.what = 'gate_lease_missing' group by q.type_id, q.lease_id on conflict do nothing;
  -- A lease that has run out, so that the job is rescued like any other whose worker went silent.
  insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
  select q.lease_id, 0, v_now, v_now - interval '1 second', array_agg(q.job_id)
  from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id where d.what = 'lease_missing' group by q.lease_id;
  perform holdfast.free_slots(array(select d.job_id from unnest(v_found) as d where d.what = 'lane_slot_left'), null);
  perform holdfast.start_followers(array(
    select f.follows from unnest(v_found) as d join holdfast.following as f on f.job_id = d.job_id where d.what = 'leader_missing'));
  return query select * from unnest(v_found);
end $$;

-- Removes those of the next p_limit keys of which nothing is said any more: no weight, no pause, no rest, no halt. Returns the last it looked at.
create or replace function holdfast.forget_keys(p_type integer, p_key text, p_limit integer, out type_id integer, out key text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_types integer[];
  v_keys text[];
begin
  select array_agg(n.type_id), array_agg(n.concurrency_key) into v_types, v_keys from (
    select k.type_id, k.concurrency_key from holdfast.keys as k where (k.type_id, k.concurrency_key) > (p_type, p_key)
    order by k.type_id, k.concurrency_key limit p_limit) as n;
  if cardinality(v_keys) = p_limit then
    type_id := v_types[p_limit];
    key := v_keys[p_limit];
  end if;
  with idle as materialized (
    select k.ctid from unnest(v_types, v_keys) as n (type_id, key)
    join holdfast.keys as k on k.type_id = n.type_id and k.concurrency_key = n.key
    where k.paused_at is null and k.halted_at is null and k.weight = 1 and (k.rests_until is null or k.rests_until < holdfast.now())
    for update of k skip locked
  )
  delete from holdfast.keys as k where k.ctid = any (array(select i.ctid from idle as i));
end $$;

-- Looks at the next p_limit jobs and slots, unless somebody did within p_every, repairs what disagrees, and forgets keys of which
-- nothing is said any more. It locks and writes nothing about jobs where all agrees. Returns what it repaired.
create or replace function holdfast.repair_drift(p_every interval, p_limit integer) returns table (what text, repaired integer)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_none constant uuid := '00000000-0000-0000-0000-000000000000';
  v_looked holdfast.drift_looked;
  v_slots uuid[];
  v_jobs uuid[];
  v_key record;
  v_found holdfast.drift[];
begin
  select * into v_looked from holdfast.drift_looked;
  if v_looked.at > holdfast.now() - p_every or not pg_try_advisory_xact_lock(hashtextextended('holdfast.drift', 0)) then
    return;
  end if;
  v_slots := array(
    select n.job_id from (
      (select s.job_id from holdfast.lane_slots as s where s.job_id > v_looked.after_slot order by s.job_id limit p_limit)
      union (select f.job_id from holdfast.following as f where f.job_id > v_looked.after_slot order by f.job_id limit p_limit)
    ) as n order by n.job_id limit p_limit);
  v_jobs := array(select q.job_id from holdfast.queue as q where q.job_id > v_looked.after_job order by q.job_id limit p_limit);
  select * into v_key from holdfast.forget_keys(v_looked.after_type, v_looked.after_key, p_limit);
  if cardinality(v_slots) + cardinality(v_jobs) > 0 or v_key.type_id is not null or v_looked.after_slot <> v_none
     or v_looked.after_job <> v_none or v_looked.after_type > 0 then
    -- A walk that came to its end begins again. That there is still nothing to look at need not be written down.
    update holdfast.drift_looked set at = holdfast.now(),
      after_slot = case when cardinality(v_slots) < p_limit then v_none else v_slots[p_limit] end,
      after_job = case when cardinality(v_jobs) < p_limit then v_none else v_jobs[p_limit] end,
      after_type = coalesce(v_key.type_id, 0),
      after_key = coalesce(v_key.key, '');
  end if;
  v_found := array(select d from holdfast.drift_of_jobs(v_slots || v_jobs) as d);
  if v_found = '{}' then
    return;
  end if;
  return query
    with mended as materialized (
      select d.what, count(*)::integer as repaired from holdfast.mend_drift(v_found) as d group by d.what
    ), counted as (
      update holdfast.drift_repairs as r set total = r.total + m.repaired from mended as m where r.what = m.what
    )
    select m.what, m.repaired from mended as m;
end $$;
