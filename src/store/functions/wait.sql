-- Processes wait for the end of jobs. A notification tells them when to look; underneath they poll.

-- Notifies those who wait for one of these jobs, which have ended or may have. Called by whatever ends attempts. Where nobody waits for
-- any job, one look into an empty table is all it costs. A notification has room for 8,000 bytes, and so for 200 ids.
create or replace function holdfast.tell_waiters(p_jobs uuid[]) returns void language plpgsql as $$
begin
  if not exists (select from holdfast.waiters) then
    return;
  end if;
  perform pg_notify('holdfast.ended', part.ids) from (
    select string_agg(w.id, ',') as ids from (
      select j.id::text as id, row_number() over () as n from unnest(p_jobs) as j (id)
      where exists (select from holdfast.waiters as w where w.job_id = j.id)
    ) as w group by w.n / 200
  ) as part where holdfast.may_notify();
end $$;

-- Of these jobs and executions, those that do not live: how they ended, why, and what they returned. Without a status: nothing is kept of it.
-- One statement, one snapshot: a job that is just moving is found in one place, never in none.
create or replace function holdfast.ends_of(p_jobs uuid[])
returns table (id uuid, type text, encrypted boolean, status text, reason text, attempt smallint, error jsonb, result json)
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $$
  with gone as materialized (
    select j.id from unnest(p_jobs) as j (id)
    where not exists (select from holdfast.live as l where l.job_id = j.id)
      and not exists (select from holdfast.executions as e where e.id = j.id and e.status = 'running')
  )
  select g.id, t.name, t.encrypted, e.status, e.reason, e.attempt, e.error,
         case when e.status = 'completed' then (select r.result from holdfast.results as r where r.job_id = g.id limit 1) end
  from gone as g
  left join lateral (
    select 'dead' as status, d.reason, d.attempt, d.error, d.type_id from holdfast.dead_letters as d where d.job_id = g.id
    union all
    select h.outcome::text, null, h.attempt, h.error, null from holdfast.history as h
    where h.job_id = g.id and h.outcome in ('completed', 'cancelled', 'discarded')
    union all
    select case x.status when 'failed' then 'dead' else x.status end, null, null, null, null from holdfast.executions as x where x.id = g.id
    limit 1
  ) as e on true
  left join holdfast.bodies as b on b.id = g.id
  left join holdfast.types as t on t.id = coalesce(b.type_id, e.type_id)
$$;
