-- What handlers report while they run: progress, log lines, and checkpoints that a retry goes on from.

-- Keeps the progress and the lines of many attempts. Ages are milliseconds before now, by the worker's monotonic clock.
-- A late report of an earlier attempt never replaces that of a later one. Of a job that was forgotten nothing is kept: a
-- handler can go on after a cancel, and forget_job waits for the lock that is taken here on the body.
create or replace function holdfast.write_log(
  p_jobs uuid[], p_attempts smallint[], p_fractions double precision[], p_notes text[], p_lines text[], p_ages_ms double precision[],
  p_levels text[] default null
) returns void
language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  with kept as materialized (
    select b.id from (select distinct id from unnest(p_jobs) as j (id) order by id) as j
    join holdfast.bodies as b on b.id = j.id for key share of b
  ), said as materialized (
    select s.job_id, s.attempt, s.fraction, s.note, s.line, coalesce(s.level, 'info') as level, s.ordinal, holdfast.now() - s.age * interval '1 millisecond' as at
    from unnest(p_jobs, p_attempts, p_fractions, p_notes, p_lines, p_ages_ms, p_levels) with ordinality
      as s (job_id, attempt, fraction, note, line, age, level, ordinal)
    where s.job_id = any (array(select k.id from kept as k))
  ), lines as (
    insert into holdfast.log_lines (job_id, attempt, at, level, line)
    select s.job_id, s.attempt, s.at, s.level, s.line from said as s where s.line is not null order by s.ordinal
  )
  insert into holdfast.progress as p (job_id, attempt, fraction, note, at)
  select distinct on (s.job_id) s.job_id, s.attempt, s.fraction, s.note, s.at
  from said as s where s.fraction is not null order by s.job_id, s.attempt desc, s.ordinal desc
  on conflict (job_id) do update set attempt = excluded.attempt, fraction = excluded.fraction, note = excluded.note, at = excluded.at
    where p.attempt <= excluded.attempt
$$;

-- Keeps a checkpoint, if that very attempt still holds its lease. False: it does not, and nothing was kept.
create or replace function holdfast.save_checkpoint(p_job uuid, p_lease bigint, p_value text) returns boolean
language plpgsql as $$
declare
  v_attempt smallint;
begin
  select q.attempt into v_attempt from holdfast.queue as q where q.job_id = p_job and q.lease_id = p_lease for update;
  if not found then
    return false;
  end if;
  insert into holdfast.checkpoints (job_id, attempt, value, at) values (p_job, v_attempt, p_value::json, holdfast.now())
  on conflict (job_id) do update set attempt = excluded.attempt, value = excluded.value, at = excluded.at;
  return true;
end $$;
