-- Days of history that are handed on before retention drops them. With the setting archive_first nothing of a day is dropped while that day, or
-- one before it, has not been handed on.

-- The jobs of a day are those that ended in it: completed, cancelled, discarded or dead. These days are over and not archived, the oldest first.
-- For an hour a day is left alone: what ended in its last moments may be committed only now.
create or replace function holdfast.days_to_archive() returns setof date language sql stable
as $$
  select d.day from (
    select to_date(right(c.relname, 8), 'YYYYMMDD') as day
    from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
    where i.inhparent in ('holdfast.history'::regclass, 'holdfast.dead_letters'::regclass) and c.relname ~ '_\d{8}$'
    union
    select (h.ended_at at time zone 'UTC')::date from holdfast.history_rest as h where h.outcome in ('completed', 'cancelled', 'discarded')
    union
    select (d.died_at at time zone 'UTC')::date from holdfast.dead_letters_rest as d
  ) as d
  where (d.day + 1)::timestamp at time zone 'UTC' + interval '1 hour' <= holdfast.now()
    and not exists (select from holdfast.archived_days as a where a.day = d.day and a.archived_at is not null)
  order by d.day
$$;

-- How old what waits for the archive is at that moment: retention keeps everything so long. Null: nothing waits, or the setting is off.
create or replace function holdfast.kept_for_archive(p_now timestamptz) returns interval language plpgsql stable
as $$
begin
  if holdfast.setting('archive_first') = 0 then
    return null;
  end if;
  -- In seconds: a day of an interval is not always 24 hours.
  return (select make_interval(secs => extract(epoch from p_now - min(d.day)::timestamp at time zone 'UTC')) from holdfast.days_to_archive() as d (day));
end $$;

-- Begins a day, or begins again one that somebody did not finish. False: it is archived. Waits for those who are forgetting a job: what they remove is
-- not read after this, and whoever forgets one later finds the row.
create or replace function holdfast.begin_archive(p_day date, p_run uuid) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast.archive', 0));
  insert into holdfast.archived_days as a (day, run, begun_at) values (p_day, p_run, holdfast.now())
  on conflict (day) do update set run = excluded.run, begun_at = excluded.begun_at where a.archived_at is null;
  return found;
end $$;

-- Notes that a day has been handed on. False: somebody else began it after p_run did, or one of its jobs was forgotten meanwhile; it is to be begun again.
create or replace function holdfast.finish_archive(p_day date, p_run uuid, p_jobs bigint) returns boolean language plpgsql as $$
begin
  update holdfast.archived_days as a set archived_at = holdfast.now(), archived_by = session_user, jobs = p_jobs
  where a.day = p_day and a.run = p_run and a.archived_at is null;
  return found;
end $$;

-- The next jobs of a day by id, each as one line of JSON. Payload, result and errors are as they are stored; line ends in them stand between values
-- only, since JSON has none inside of a text. Reads by index: a day may have millions.
create or replace function holdfast.archive_page(p_day date, p_after uuid, p_limit integer) returns table (id uuid, line text)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set timezone = 'UTC'
as $$
declare
  v_from constant timestamptz := p_day::timestamp at time zone 'UTC';
  v_to constant timestamptz := (p_day + 1)::timestamp at time zone 'UTC';
begin
  return query
  with those as (
    (select distinct h.job_id from holdfast.history as h
     where h.ended_at >= v_from and h.ended_at < v_to and h.outcome in ('completed', 'cancelled', 'discarded') and h.job_id > p_after
     order by h.job_id limit p_limit)
    union
    (select distinct d.job_id from holdfast.dead_letters as d where d.died_at >= v_from and d.died_at < v_to and d.job_id > p_after
     order by d.job_id limit p_limit)
    order by job_id limit p_limit
  )
  select j.job_id, translate(json_build_object(
    'id', j.job_id, 'type', t.name, 'status', coalesce(e.status, 'dead'), 'endedAt', coalesce(e.ended_at, d.died_at),
    'createdAt', coalesce(b.created_at, holdfast.time_of_id(j.job_id)), 'priority', coalesce(d.priority, b.priority), 'maxAttempts', b.max_attempts,
    'idempotencyKey', b.idempotency_key, 'concurrencyKey', b.concurrency_key, 'owner', b.owner, 'tags', b.tags, 'version', b.version,
    'payload', b.payload,
    'result', case when e.status = 'completed' then (select r.result from holdfast.results as r where r.job_id = j.job_id limit 1) end,
    'reason', d.reason, 'error', case when e.status is null then d.error else e.error end,
    'attempts', (select coalesce(json_agg(json_build_object('attempt', h.attempt, 'outcome', h.outcome, 'startedAt', h.started_at, 'endedAt', h.ended_at,
                                                            'worker', w.name, 'error', h.error) order by h.ended_at, h.attempt), '[]')
                 from holdfast.history as h left join holdfast.workers as w on w.id = h.worker_id where h.job_id = j.job_id)
  )::text, E'\n\r', '  ')
  from those as j
  left join lateral (
    select h.outcome::text as status, h.ended_at, h.error from holdfast.history as h
    where h.job_id = j.job_id and h.ended_at >= v_from and h.ended_at < v_to and h.outcome in ('completed', 'cancelled', 'discarded')
    order by h.ended_at desc limit 1) as e on true
  left join lateral (select * from holdfast.dead_letters as x where e.status is null and x.job_id = j.job_id limit 1) as d on true
  left join holdfast.bodies as b on b.id = j.job_id
  left join holdfast.types as t on t.id = coalesce(b.type_id, d.type_id)
  order by j.job_id;
end $$;

-- A job is about to be forgotten: the days it is archived in are archived again without it, those that are just being written and those of which nothing can
-- have been dropped. In the files of other days it stays until somebody takes it out. A job that somebody moved may have died on a day of which
-- no attempt tells, so all its days count.
create or replace function holdfast.archive_again_without(p_job uuid) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_whole_since constant timestamptz :=
    holdfast.now() - least(holdfast.setting_time('retention_completed'), holdfast.setting_time('retention_dead'));
  v_days date[] := array(select distinct (h.ended_at at time zone 'UTC')::date from holdfast.history as h where h.job_id = p_job);
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('holdfast.archive', 0));
  if exists (select from holdfast.moves as m where m.job_id = p_job) then
    v_days := array(select (holdfast.time_of_id(p_job) at time zone 'UTC')::date + n
                    from generate_series(0, (select max(d) from unnest(v_days) as d) - (holdfast.time_of_id(p_job) at time zone 'UTC')::date) as n);
  end if;
  delete from holdfast.archived_days as a
  where a.day = any (v_days)
    and (a.archived_at is null or a.day::timestamp at time zone 'UTC' >= v_whole_since
         and to_regclass('holdfast.history_' || to_char(a.day, 'YYYYMMDD')) is not null
         and to_regclass('holdfast.dead_letters_' || to_char(a.day, 'YYYYMMDD')) is not null);
end $$;
