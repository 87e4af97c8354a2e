-- Slots, admissions and keys are counted in tables of their own beside the jobs they stand for. Should the two ever disagree, a lane
-- or a key stands still for ever, or more runs than may. What disagrees is found here, repaired and counted. It should be nothing.

-- What disagrees about these jobs. One statement, one snapshot: whatever moves a job writes all of it in one transaction, so a job that
-- is just being claimed or settled agrees before and after.
create or replace function holdfast.drift_of_jobs(p_jobs uuid[]) returns setof holdfast.drift
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select d.what, j.id, coalesce(q.type_id, h.type_id, f.type_id), coalesce(h.concurrency_key, b.concurrency_key, ''),
         coalesce(s.lane_id, q.lane_id, f.lane_id)
  from (select distinct unnest(p_jobs) as id) as j
  left join holdfast.queue as q on q.job_id = j.id
  left join holdfast.admissions as h on h.job_id = j.id
  left join holdfast.lane_slots as s on s.job_id = j.id
  left join holdfast.cancellations as c on c.job_id = j.id
  left join holdfast.following as f on f.job_id = j.id
  left join holdfast.bodies as b on b.id = j.id and q.pass > 0
  left join holdfast.lanes as l on l.id = q.lane_id
  left join holdfast.leases as e on e.id = q.lease_id
  cross join lateral (values
    ('lane_slot_left', s.job_id is not null and q.lease_id is null and c.job_id is null),
    ('lane_slot_missing', s.job_id is null and q.lease_id is not null and l.slots is not null),
    ('admission_left', h.job_id is not null and coalesce(q.pass, 0) = 0 and c.job_id is null),
    ('admission_missing', h.job_id is null and q.pass > 0),
    ('admission_state', h.job_id is not null and q.pass > 0 and (h.lease_id is null) <> (q.lease_id is null)),
    ('admission_key', h.job_id is not null and b.id is not null and h.concurrency_key <> coalesce(b.concurrency_key, '')),
    ('lease_missing', q.lease_id is not null and e.id is null),
    ('leader_missing', f.job_id is not null and not f.unsure and not exists (select from holdfast.whereabouts(f.follows)))
  ) as d (what, so)
  where d.so
$$;

-- What disagrees about these keys; the arrays stand side by side. An arrival that nobody has looked at yet makes all of it good.
create or replace function holdfast.drift_of_keys(p_types integer[], p_keys text[]) returns setof holdfast.drift
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select d.what, null::uuid, j.type_id, j.key, null::smallint
  from (select distinct type_id, key from unnest(p_types, p_keys) as u (type_id, key)) as j
  join holdfast.gates as g on g.type_id = j.type_id and g.keyed
  left join holdfast.keys as k on k.type_id = j.type_id and k.concurrency_key = j.key
  cross join lateral (values
    ('key_full', k.full_now and (g.key_max_running is null or g.key_max_running > (
      select count(*) from holdfast.admissions as h where h.type_id = j.type_id and h.concurrency_key = j.key))),
    ('key_idle', k.active is not true and exists (
      select from holdfast.gated as w where w.type_id = j.type_id and w.concurrency_key = j.key))
  ) as d (what, so)
  where d.so and not exists (select from holdfast.dirty_keys as a where a.type_id = j.type_id and a.concurrency_key = j.key)
$$;

-- Everything that disagrees in the whole database, recomputed from the jobs themselves: for tests, and for people who want to know.
-- Reads all that is live; repair_drift looks at the same a piece at a time.
create or replace function holdfast.find_drift() returns setof holdfast.drift
language sql stable as $$
  select * from holdfast.drift_of_jobs(array(
    select l.job_id from holdfast.live as l union all select h.job_id from holdfast.admissions as h
    union all select s.job_id from holdfast.lane_slots as s))
  union all
  select d.* from (
    select array_agg(k.type_id) as types, array_agg(k.concurrency_key) as keys from (
      select k.type_id, k.concurrency_key from holdfast.keys as k
      union select g.type_id, g.concurrency_key from holdfast.gated as g) as k
  ) as every cross join lateral holdfast.drift_of_keys(every.types, every.keys) as d
$$;

-- The next keys that have a row of their own or jobs before their gate, in their order.
create or replace function holdfast.next_keys(p_type integer, p_key text, p_limit integer) returns table (type_id integer, key text)
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
  -- From one key to the next by the index: a key may have a million jobs.
  with recursive waiting (type_id, key, nth) as (
    (select g.type_id, g.concurrency_key, 1 from holdfast.gated as g where (g.type_id, g.concurrency_key) > (p_type, p_key)
     order by g.type_id, g.concurrency_key limit 1)
    union all
    select n.type_id, n.concurrency_key, w.nth + 1 from waiting as w cross join lateral (
      select g.type_id, g.concurrency_key from holdfast.gated as g where (g.type_id, g.concurrency_key) > (w.type_id, w.key)
      order by g.type_id, g.concurrency_key limit 1) as n
    where w.nth < p_limit
  )
  select w.type_id, w.key from waiting as w
  union
  (select k.type_id, k.concurrency_key from holdfast.keys as k where (k.type_id, k.concurrency_key) > (p_type, p_key)
   order by k.type_id, k.concurrency_key limit p_limit)
  order by 1, 2 limit p_limit
$$;

-- Repairs what was found, where it still disagrees once nobody admits, claims or settles any more: a job that is being claimed at
-- this very moment keeps its slot. Returns what it repaired.
create or replace function holdfast.mend_drift(p_found holdfast.drift[]) returns setof holdfast.drift
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_found holdfast.drift[];
begin
  perform pg_advisory_xact_lock(holdfast.settles_lock());
  perform from holdfast.gates as g where g.type_id = any (array(select d.type_id from unnest(p_found) as d)) order by g.type_id for update;
  perform pg_advisory_xact_lock(holdfast.claims_lock());
  v_found := array(
    select d from holdfast.drift_of_jobs(array(select f.job_id from unnest(p_found) as f where f.job_id is not null)) as d
    union all
    select d from holdfast.drift_of_keys(array(select f.type_id from unnest(p_found) as f where f.job_id is null),
                                         array(select f.concurrency_key from unnest(p_found) as f where f.job_id is null)) as d);
  insert into holdfast.lane_slots (job_id, lane_id)
  select d.job_id, d.lane_id from unnest(v_found) as d where d.what = 'lane_slot_missing' on conflict do nothing;
  insert into holdfast.admissions (job_id, type_id, concurrency_key, lease_id)
  select q.job_id, q.type_id, d.concurrency_key, q.lease_id
  from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id where d.what = 'admission_missing' on conflict do nothing;
  update holdfast.admissions as h set lease_id = q.lease_id
  from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id where d.what = 'admission_state' and h.job_id = d.job_id;
  update holdfast.admissions as h set concurrency_key = coalesce(b.concurrency_key, '')
  from unnest(v_found) as d join holdfast.bodies as b on b.id = d.job_id where d.what = 'admission_key' and h.job_id = d.job_id;
  -- A key that jobs arrive for is looked at anew, whatever was thought of it.
  insert into holdfast.dirty_keys (type_id, concurrency_key)
  select distinct d.type_id, d.concurrency_key from unnest(v_found) as d where d.what in ('key_full', 'key_idle', 'admission_key');
  -- A lease that has run out, so that the job is rescued like any other whose worker went silent.
  insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs)
  select q.lease_id, 0, v_now, v_now - interval '1 second', array_agg(q.job_id)
  from unnest(v_found) as d join holdfast.queue as q on q.job_id = d.job_id where d.what = 'lease_missing' group by q.lease_id;
  perform holdfast.free_slots(array(select d.job_id from unnest(v_found) as d where d.what = 'lane_slot_left'),
                              nullif(array(select d.job_id from unnest(v_found) as d where d.what = 'admission_left'), '{}'));
  perform holdfast.start_followers(array(
    select f.follows from unnest(v_found) as d join holdfast.following as f on f.job_id = d.job_id where d.what = 'leader_missing'));
  return query select * from unnest(v_found);
end $$;

-- Removes those of these keys that nothing is known of but their turn: no job of theirs waits or runs, and no operator said anything.
-- A key that comes back begins at the turn of its type: it may come one job earlier than it would have.
create or replace function holdfast.forget_keys(p_types integer[], p_keys text[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_type integer;
begin
  for v_type in select distinct k.type_id from holdfast.idle_keys(p_types, p_keys) as k order by 1 loop
    -- Where somebody is admitting, the keys stay until the next time.
    perform from holdfast.gates as g where g.type_id = v_type for update skip locked;
    continue when not found;
    delete from holdfast.keys as k using holdfast.idle_keys(p_types, p_keys) as i
    where k.type_id = v_type and k.type_id = i.type_id and k.concurrency_key = i.key;
  end loop;
end $$;

create or replace function holdfast.idle_keys(p_types integer[], p_keys text[]) returns table (type_id integer, key text)
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select j.type_id, j.key from unnest(p_types, p_keys) as j (type_id, key)
  join holdfast.keys as k on k.type_id = j.type_id and k.concurrency_key = j.key
  where k.paused_at is null and k.weight = 1 and (k.rests_until is null or k.rests_until < holdfast.now())
    and not exists (select from holdfast.gated as g where g.type_id = j.type_id and g.concurrency_key = j.key)
    and not exists (select from holdfast.admissions as h where h.type_id = j.type_id and h.concurrency_key = j.key)
    and not exists (select from holdfast.dirty_keys as a where a.type_id = j.type_id and a.concurrency_key = j.key)
$$;

-- Looks at the next p_limit jobs, slots and keys, unless somebody did within p_every, repairs what disagrees, and forgets keys that are
-- no longer used. It locks and writes nothing about jobs where all agrees. Returns what it repaired.
create or replace function holdfast.repair_drift(p_every interval, p_limit integer) returns table (what text, repaired integer)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_none constant uuid := '00000000-0000-0000-0000-000000000000';
  v_looked holdfast.drift_looked;
  v_slots uuid[];
  v_jobs uuid[];
  v_types integer[];
  v_keys text[];
  v_found holdfast.drift[];
begin
  select * into v_looked from holdfast.drift_looked;
  if v_looked.at > holdfast.now() - p_every or not pg_try_advisory_xact_lock(hashtextextended('holdfast.drift', 0)) then
    return;
  end if;
  v_slots := array(
    select n.job_id from (
      (select h.job_id from holdfast.admissions as h where h.job_id > v_looked.after_slot order by h.job_id limit p_limit)
      union (select s.job_id from holdfast.lane_slots as s where s.job_id > v_looked.after_slot order by s.job_id limit p_limit)
      union (select f.job_id from holdfast.following as f where f.job_id > v_looked.after_slot order by f.job_id limit p_limit)
    ) as n order by n.job_id limit p_limit);
  v_jobs := array(select q.job_id from holdfast.queue as q where q.job_id > v_looked.after_job order by q.job_id limit p_limit);
  select array_agg(k.type_id order by k.type_id, k.key), array_agg(k.key order by k.type_id, k.key) into v_types, v_keys
  from holdfast.next_keys(v_looked.after_type, v_looked.after_key, p_limit) as k;
  if cardinality(v_slots) + cardinality(v_jobs) + coalesce(cardinality(v_keys), 0) > 0 or v_looked.after_slot <> v_none
     or v_looked.after_job <> v_none or v_looked.after_type > 0 then
    -- A walk that came to its end begins again. That there is still nothing to look at need not be written down.
    update holdfast.drift_looked set at = holdfast.now(),
      after_slot = case when cardinality(v_slots) < p_limit then v_none else v_slots[p_limit] end,
      after_job = case when cardinality(v_jobs) < p_limit then v_none else v_jobs[p_limit] end,
      after_type = case when cardinality(v_keys) = p_limit then v_types[p_limit] else 0 end,
      after_key = case when cardinality(v_keys) = p_limit then v_keys[p_limit] else '' end;
  end if;
  v_found := array(
    select d from holdfast.drift_of_jobs(v_slots || v_jobs) as d union all select d from holdfast.drift_of_keys(v_types, v_keys) as d);
  if v_found = '{}' then
    perform holdfast.forget_keys(v_types, v_keys);
    return;
  end if;
  return query
    with mended as materialized (
      select d.what, count(*)::integer as repaired from holdfast.mend_drift(v_found) as d group by d.what
    ), counted as (
      update holdfast.drift_repairs as r set total = r.total + m.repaired from mended as m where r.what = m.what
    )
    select m.what, m.repaired from mended as m;
  perform holdfast.forget_keys(v_types, v_keys);
end $$;
