-- What a type asks for when one of its jobs has died: a job of another type, written by the transaction that writes the death.

-- Called by after_end with jobs that may have died. Of those that did, and whose type has a reaction, it enqueues that. What a reaction cannot be
-- enqueued for (an unknown type, a full payload) must not keep the death from being written, so it is told in the log of the dead job;
-- what may pass when it is tried again fails the whole, which is tried again. Unique keys of the reaction's type do not hold: taking one under
-- the locks of jobs that have ended could deadlock with an enqueue that has it and waits for such a job.
create or replace function holdfast.react_to_deaths(p_jobs uuid[]) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_dead record;
begin
  -- Almost always no type has one; then this one look is all it costs.
  if not exists (select from holdfast.types as t where t.on_dead is not null) then
    return;
  end if;
  for v_dead in
    select d.job_id, d.attempt, d.reason, d.died_at, d.error, t.name, t.on_dead
    from holdfast.dead_letters as d join holdfast.types as t on t.id = d.type_id
    where d.job_id = any (p_jobs) and t.on_dead is not null order by d.job_id
  loop
    begin
      perform holdfast.enqueue(v_dead.on_dead, jsonb_build_object(
        'job', v_dead.job_id, 'type', v_dead.name, 'reason', v_dead.reason, 'attempt', v_dead.attempt,
        'diedAt', to_char(v_dead.died_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'error', case when v_dead.error is not null then jsonb_build_object(
          'name', v_dead.error -> 'name', 'message', left(v_dead.error ->> 'message', 4000)) end), '{"unique": false}');
    exception when others then
      -- A deadlock, a timeout of a lock, a lack of resources.
      if sqlstate like '40%' or sqlstate like '53%' or sqlstate like '55%' or sqlstate like '57%' then
        raise;
      end if;
      insert into holdfast.log_lines (job_id, attempt, at, level, line)
      values (v_dead.job_id, v_dead.attempt, holdfast.now(), 'error',
              left(format('the job of %s that was to follow its death was not enqueued: %s', v_dead.on_dead, sqlerrm), 4000));
    end;
  end loop;
end $$;
