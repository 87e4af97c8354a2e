-- A job that has ended can be forgotten before its time, because somebody asks that what is known of them be deleted.

-- Removes everything that is kept of a job that has ended: its payload, result, attempts, errors, log. What stays is a line in the audit
-- log, and for their usual time its keys: without them the same enqueue would run a second time what was done already.
-- No row: no such job is kept.
create or replace function holdfast.forget_job(p_job uuid, p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_job record;
begin
  perform from holdfast.bodies as b where b.id = p_job for update;
  select j.type, j.status into v_job from holdfast.jobs as j where j.id = p_job;
  if not found then
    return;
  end if;
  if v_job.status not in ('completed', 'cancelled', 'discarded') then
    return query select p_job, false, v_job.status, v_job.status,
      case v_job.status when 'dead' then 'it is dead; replay or discard it first' else 'it has not ended; cancel it first' end;
    return;
  end if;
  delete from holdfast.bodies as b where b.id = p_job;
  delete from holdfast.history as h where h.job_id = p_job;
  delete from holdfast.results as r where r.job_id = p_job;
  update holdfast.error_groups as g set message = null, job_id = null where g.job_id = p_job;
  update holdfast.tasks as t set result = null, payload = case when t.item >= 0 then 'null'::json end from holdfast.members as m
  where m.job_id = p_job and t.execution_id = m.group_id and t.name = m.task and t.item = coalesce(m.item, -1);
  delete from holdfast.log_lines as l where l.job_id = p_job;
  delete from holdfast.progress as p where p.job_id = p_job;
  delete from holdfast.checkpoints as c where c.job_id = p_job;
  delete from holdfast.start_deadlines as d where d.job_id = p_job;
  delete from holdfast.job_webhooks as w where w.job_id = p_job;
  delete from holdfast.steps as s where s.job_id = p_job;
  delete from holdfast.signals as g where g.job_id = p_job;
  delete from holdfast.newer_jobs as n where n.job_id = p_job;
  delete from holdfast.moves as m where m.job_id = p_job;
  delete from holdfast.approvals as a where a.job_id = p_job;
  delete from holdfast.approval_requests as a where a.job_id = p_job;
  perform holdfast.audit('forget_job', p_job::text, jsonb_build_object('type', v_job.type, 'status', v_job.status), null, p_actor);
  return query select p_job, true, v_job.status, v_job.status, null::text;
end $$;
