-- Payloads have versions. A worker brings older ones up to date itself; a job whose payload is newer than what every worker knows waits,
-- and a worker that knows an older version than others passes over the jobs that are too new for it.

-- Notes which of these jobs are newer than any worker knows. The arrays stand side by side; a null job or version does not matter.
create or replace function holdfast.note_newer(p_jobs uuid[], p_types text[], p_versions smallint[]) returns void
language sql volatile as $$
  insert into holdfast.newer_jobs (job_id, type_id, version)
  select distinct on (a.job_id) a.job_id, t.id, a.version
  from unnest(p_jobs, p_types, p_versions) with ordinality as a (job_id, type, version, ordinal) join holdfast.types as t on t.name = a.type
  where a.job_id is not null and a.version > t.version order by a.job_id, a.ordinal desc
  on conflict (job_id) do update set version = excluded.version
$$;

-- Those of these jobs that no worker knows how to read yet.
create or replace function holdfast.still_newer(p_jobs uuid[]) returns uuid[]
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  if not exists (select from holdfast.newer_jobs) then
    return '{}';
  end if;
  return array(select n.job_id from holdfast.newer_jobs as n join holdfast.types as t on t.id = n.type_id
               where n.job_id = any (p_jobs) and n.version > t.version);
end $$;

-- Jobs that were newer than any worker and are no longer, at most p_limit, without those that a tick has set aside: else as many of them would
-- keep every other one from going on.
create or replace function holdfast.newer_no_more(p_limit integer, p_aside uuid[]) returns uuid[]
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  return array(
    select n.job_id from holdfast.types as t
    cross join lateral (
      select n.job_id from holdfast.newer_jobs as n
      where n.type_id = t.id and n.version <= t.version and n.job_id <> all (p_aside) limit p_limit) as n
    limit p_limit);
end $$;

-- Lets these go where they belong. One that somebody works on at this moment comes again.
create or replace function holdfast.release_newer(p_jobs uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_held uuid[] := array(select l.job_id from holdfast.lock_unheld(p_jobs) as l);
begin
  delete from holdfast.newer_jobs as n where n.job_id = any (p_jobs)
    and (n.job_id = any (v_held) or not exists (select from holdfast.whereabouts(n.job_id)));
  perform holdfast.make_ready(array(select w.job_id from holdfast.waiting as w where w.job_id = any (v_held) and w.status = 'blocked'),
                              holdfast.now(), true);
end $$;

-- Whether others know newer payloads of some of its types than this worker does, or a job is pinned to another build than its own (builds.sql).
create or replace function holdfast.is_outdated(p_worker integer) returns boolean
language plpgsql stable
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on set jit = off
as $$
begin
  if exists (select from holdfast.pins) then
    if exists (select from holdfast.pins as p join holdfast.workers as w on w.id = p_worker where w.build_id is distinct from p.build_id) then
      return true;
    end if;
  end if;
  -- Most installations have no versions; then these two looks are all that a claim pays.
  if not exists (select from holdfast.types as t where t.version > 1) then
    return false;
  end if;
  return exists (select from holdfast.workers as w cross join unnest(w.types, w.versions) as k (type_id, version)
                 join holdfast.types as t on t.id = k.type_id where w.id = p_worker and t.version > k.version);
end $$;

-- Of these rows of the queue, which the caller has locked, those whose payload this worker can read and that are not pinned to another build, in
-- their order.
create or replace function holdfast.readable_by(p_worker integer, p_rows tid[]) returns tid[]
language sql volatile
set enable_seqscan = off set enable_nestloop = on set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select coalesce(array_agg(r.row_at order by r.nth), '{}')
  from unnest(p_rows) with ordinality as r (row_at, nth) join holdfast.queue as q on q.ctid = r.row_at
  where not exists (
    select from holdfast.workers as w cross join unnest(w.types, w.versions) as k (type_id, version)
    join holdfast.bodies as b on b.id = q.job_id
    where w.id = p_worker and k.type_id = q.type_id and b.version > k.version)
    and not exists (
      select from holdfast.pins as p join holdfast.workers as w on w.id = p_worker
      where p.job_id = q.job_id and w.build_id is distinct from p.build_id)
$$;

-- The newest payload of a type that a worker reads, where there are newer ones; null where it reads all.
create or replace function holdfast.known_version(p_worker integer, p_type integer) returns smallint language sql stable as $$
  select k.version from holdfast.workers as w cross join unnest(w.types, w.versions) as k (type_id, version)
  join holdfast.types as t on t.id = k.type_id where w.id = p_worker and k.type_id = p_type and t.version > k.version
$$;

-- Takes jobs before a gate whose payload is not newer than p_known. A worker that knows an older version than others looks at the first 2,000 and,
-- where it can read none of these, at 2,000 from anywhere between the first and the last: so that no number of newer jobs keeps an older one from
-- it for good, and no claim holds the gate while it reads over a million. The front stays where it is, because newer jobs are left behind.
create or replace function holdfast.take_readable(p_gate holdfast.gates, p_limit integer, p_known smallint, out rows tid[], out jobs uuid[])
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on set jit = off
as $$
declare
  v_from bigint;
  v_last bigint;
  v_first bigint;
begin
  select min(q.seq) into v_first from holdfast.queue as q where q.type_id::bigint = p_gate.type_id and q.pass > 0 and q.lease_id is null;
  v_from := v_first;
  for v_look in 1..2 loop
    select array_agg(l.ctid), array_agg(l.job_id) into rows, jobs
    from (
      select q.ctid, q.job_id from holdfast.queue as q
      where q.ctid = any (array(
          select f.ctid from (
            select n.ctid, n.job_id, n.seq from holdfast.queue as n
            where n.type_id::bigint = p_gate.type_id and n.pass > 0 and n.lease_id is null and n.seq >= v_from order by n.seq, n.job_id limit 2000
          ) as f
          where not exists (select from holdfast.bodies as b where b.id = f.job_id and b.version > p_known)
          order by f.seq, f.job_id limit p_limit))
        and q.lease_id is null and q.pass > 0
      for update skip locked
    ) as l;
    exit when rows is not null;
    select max(q.seq) into v_last from holdfast.queue as q where q.type_id::bigint = p_gate.type_id and q.pass > 0 and q.lease_id is null;
    v_from := v_first + floor(random() * (v_last - v_first))::bigint;
  end loop;
end $$;
