-- Finished jobs go after a while (completed after 7 days, dead after 30), by dropping the day they stand in.
-- A day is dropped once the rows of it that are still needed are few enough to be carried over; until then it stays,
-- which costs disk and nothing else. What waits for the archive is kept as if it had not had its time.

-- Jobs with an id from p_from to p_to that must stay: waiting, queued, running, dead, or ended since p_since.
-- One job may stand here twice; a caller that only wants to know whether there are many can stop early. Without settings of its own,
-- so that it becomes part of the caller's statement: callers forbid scans of whole tables.
create or replace function holdfast.jobs_still_needed(p_from uuid, p_to uuid, p_since timestamptz) returns setof uuid
language sql stable
as $$
  select job_id from holdfast.live where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.dead_letters where job_id >= p_from and job_id <= p_to
  union all
  select job_id from holdfast.history where ended_at >= p_since and job_id >= p_from and job_id <= p_to
$$;

-- Drops at most one day of one family and returns its partition's name, or null where none is old enough.
-- Takes an exclusive lock on the family for the moment it takes to carry over at most p_carry rows; does not wait longer
-- than 100 ms for it, because everybody else would wait behind.
create or replace function holdfast.drop_oldest_partition(p_completed interval, p_dead interval, p_carry integer default 5000) returns text
language plpgsql
set lock_timeout = '100ms' set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_now timestamptz := holdfast.now();
  v_lowest constant uuid := '00000000-0000-0000-0000-000000000000';
  v_family text;
  v_name text;
  v_day date;
  v_from uuid;
  v_to uuid;
  v_needed uuid[];
begin
  p_completed := greatest(p_completed, holdfast.kept_for_archive(v_now));
  p_dead := greatest(p_dead, holdfast.kept_for_archive(v_now));
  for v_family, v_name, v_day in
    select f.family, c.relname, d.day
    from (values ('dead_letters', 1, p_dead), ('history', 2, p_completed), ('bodies', 3, p_completed),
                 ('log_lines', 4, p_completed), ('results', 5, p_completed),
                 ('events', 6, p_completed)) as f (family, turn, age)
    join pg_inherits as i on i.inhparent = ('holdfast.' || f.family)::regclass
    join pg_class as c on c.oid = i.inhrelid
    cross join lateral (select case when c.relname ~ '_\d{8}$' then to_date(right(c.relname, 8), 'YYYYMMDD') end as day) as d
    where (d.day + 1)::timestamp at time zone 'UTC' <= v_now - f.age
    order by f.turn, d.day
  loop
    -- An attempt can only belong to a job that was made before its day ended; a body has its own day's id.
    v_from := case v_family when 'bodies' then holdfast.first_id_at(v_day::timestamp at time zone 'UTC') else v_lowest end;
    v_to := case when v_family in ('dead_letters', 'log_lines', 'results', 'events') then v_lowest
                          else holdfast.first_id_at((v_day + 1)::timestamp at time zone 'UTC') end;
    for v_check in 1..2 loop
      if v_family <> 'history' then
        select array_agg(job_id) into v_needed from (
          select job_id from holdfast.jobs_still_needed(v_from, v_to, v_now - p_completed) as n (job_id) limit p_carry + 1
        ) as needed;
      -- Of all the older jobs that live, those with an attempt in this day; the jobs that ended lately matter too, their earlier
      -- attempts may stand here. Looking through millions of them takes seconds, and need not be done under the lock: no attempt of an
      -- old day is ever added, and a job that nobody needs any more is never needed again, except a cancelled one that is resumed at this very
      -- moment: it runs, and its attempts of this day are lost.
      elsif v_check = 1 then
        execute format('select array_agg(job_id) from (
            select n.job_id from holdfast.jobs_still_needed($1, $2, $3) as n (job_id)
            where exists (select from holdfast.%I as h where h.job_id = n.job_id) limit $4 + 1) as needed', v_name)
          into v_needed using v_from, v_to, v_now - p_completed, p_carry;
      end if;
      exit when cardinality(v_needed) > p_carry;
      -- The first look is free; what counts is the second one, under the lock.
      if v_check = 1 then
        execute format('lock table holdfast.%I in access exclusive mode', v_family);
      end if;
    end loop;
    continue when cardinality(v_needed) > p_carry;
    execute format('alter table holdfast.%I detach partition holdfast.%I', v_family, v_name);
    if v_family = 'events' then
      execute format('select holdfast.lose_events(max(e.seq), max(e.at)) from holdfast.%I as e', v_name);
    elsif v_family not in ('dead_letters', 'log_lines', 'results') then
      execute format('insert into holdfast.%I select * from holdfast.%I where %I = any ($1)',
                     v_family, v_name, case v_family when 'bodies' then 'id' else 'job_id' end) using v_needed;
    end if;
    execute format('drop table holdfast.%I', v_name);
    return v_name;
  end loop;
  return null;
end $$;

-- Removes what outlived its day in the default partitions, and what belongs to jobs that are gone: at most p_limit rows of
-- each. These are the few that were carried over, so they go row by row. Returns how many went.
-- Planning one of these deletes takes a session two milliseconds, and each worker that starts is a session that has not planned any: the
-- looks before them let it plan only those for which there is something. In the conditions r is the row; $1: what completed jobs and $2:
-- what dead letters are kept since.
create or replace function holdfast.sweep_rest(p_completed interval, p_dead interval, p_limit integer default 1000) returns integer
language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_job_gone constant text := 'not exists (select from holdfast.bodies as b where b.id = r.job_id)';
  v_old_job_gone constant text := 'r.job_id < holdfast.first_id_at($1) and ' || v_job_gone;
  v_table text;
  v_condition text;
  v_any boolean;
  v_gone integer;
  v_total integer := 0;
begin
  p_completed := greatest(p_completed, holdfast.kept_for_archive(v_now));
  p_dead := greatest(p_dead, holdfast.kept_for_archive(v_now));
  for v_table, v_condition in values
    ('dead_letters_rest', 'r.died_at < $2'),
    ('history_rest', 'r.ended_at < $1 and not exists (select from holdfast.jobs_still_needed(r.job_id, r.job_id, $1))'),
    ('bodies_rest', 'r.created_at < $1 and not exists (select from holdfast.jobs_still_needed(r.id, r.id, $1))'),
    ('log_lines_rest', 'r.at < $1'),
    ('results_rest', 'r.at < $1'),
    ('progress', 'r.at < $1 and ' || v_job_gone),
    ('checkpoints', 'r.at < $1 and ' || v_job_gone),
    ('idempotency_keys', v_old_job_gone),
    ('approval_requests', v_old_job_gone),
    ('approvals', v_old_job_gone),
    ('moves', v_old_job_gone),
    ('newer_jobs', v_old_job_gone),
    ('start_deadlines', v_old_job_gone),
    ('job_webhooks', v_old_job_gone),
    ('steps', v_old_job_gone),
    ('signals', v_old_job_gone)
  loop
    execute format('select exists (select from holdfast.%I)', v_table) into v_any;
    if v_any then
      execute format('delete from holdfast.%1$I where ctid = any (array(select r.ctid from holdfast.%1$I as r where %2$s limit $3))', v_table, v_condition)
        using v_now - p_completed, v_now - p_dead, p_limit;
      get diagnostics v_gone = row_count;
      v_total := v_total + v_gone;
    end if;
  end loop;
  if exists (select from holdfast.uniques) then
    delete from holdfast.uniques where ctid = any (array(
      select u.ctid from holdfast.uniques as u
      where u.job_id < holdfast.first_id_at(v_now - p_completed) and u.kept_until < v_now
        and not exists (select from holdfast.bodies as b where b.id = u.job_id)
        and (u.next_job_id is null or not exists (select from holdfast.bodies as b where b.id = u.next_job_id))
      limit p_limit for update skip locked));
    get diagnostics v_gone = row_count;
    v_total := v_total + v_gone;
  end if;
  if exists (select from holdfast.keys) then
    -- What a row of a key says that says nothing any more, no row says too.
    delete from holdfast.keys where ctid = any (array(
      select k.ctid from holdfast.keys as k
      where k.weight = 1 and k.paused_at is null and k.halted_at is null
        and coalesce(k.rests_until, '-infinity') < v_now - holdfast.setting_time('retention_keys')
      limit p_limit for update skip locked));
    get diagnostics v_gone = row_count;
    v_total := v_total + v_gone;
  end if;
  -- A worker may not read the log, so it cannot look first whether there is a line.
  v_total := v_total + holdfast.sweep_audit(p_limit);
  if exists (select from holdfast.executions) then
    v_total := v_total + holdfast.sweep_executions(p_completed, p_dead, p_limit);
  end if;
  if exists (select from holdfast.open_groups) then
    perform holdfast.close_orphans(p_limit);
  end if;
  if exists (select from holdfast.events_rest) or exists (select from holdfast.feeds) then
    v_total := v_total + holdfast.sweep_events(p_completed, p_limit);
  end if;
  if exists (select from holdfast.error_groups) then
    v_total := v_total + holdfast.sweep_error_groups(greatest(p_completed, p_dead));
  end if;
  if exists (select from holdfast.following) then
    -- Whoever ends a job starts what waits behind it; this is for one who forgot.
    perform holdfast.start_followers(array(
      select f.follows from holdfast.following as f
      where not exists (select from holdfast.whereabouts(f.follows)) limit p_limit));
  end if;
  if exists (select from holdfast.batches) then
    v_total := v_total + holdfast.sweep_batches(p_completed, p_dead, p_limit);
  end if;

  delete from holdfast.workers where seen_at < v_now - greatest(p_completed, p_dead);
  if exists (select from holdfast.builds) then
    perform holdfast.sweep_builds();
  end if;
  delete from holdfast.verifications as v where v.at < v_now - interval '35 days';
  delete from holdfast.waiters where since < v_now - interval '1 day';
  delete from holdfast.idle_workers as s
  where not exists (select from holdfast.workers as w where w.id = s.worker_id and w.seen_at > v_now - interval '10 minutes');
  return v_total;
end $$;
