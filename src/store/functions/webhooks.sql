-- Webhooks of types: a request about what happened to a job is a job too, written by the transaction that made it happen.

-- Enqueues the webhooks for jobs of which something happened. What cannot be enqueued must not keep that from being written, so it is told in the
-- log of the job; what may pass when it is tried again fails the whole, which is tried again, as in react_to_deaths.
create or replace function holdfast.enqueue_webhooks(p_jobs uuid[], p_kind text) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_told record;
begin
  for v_told in
    select b.id, t.name as type, b.tags, holdfast.now() as at, coalesce(d.attempt, h.attempt, 1::smallint) as attempt, d.reason
    from unnest(p_jobs) as j (id)
    cross join lateral (select b.id, b.type_id, b.tags from holdfast.bodies as b where b.id = j.id limit 1) as b
    join holdfast.webhooks as w on w.type_id = b.type_id and p_kind = any (w.kinds)
    join holdfast.types as t on t.id = b.type_id
    left join lateral (
      select h.attempt from holdfast.history as h where h.job_id = j.id order by h.ended_at desc limit 1) as h on true
    left join lateral (
      select d.attempt, d.reason from holdfast.dead_letters as d where d.job_id = j.id and p_kind = 'dead' limit 1) as d on true
    order by b.id
  loop
    begin
      perform holdfast.enqueue('holdfast:webhook', jsonb_build_object(
        'kind', p_kind, 'job', v_told.id, 'type', v_told.type, 'tags', coalesce(to_jsonb(v_told.tags), '[]'), 'attempt', v_told.attempt,
        'reason', v_told.reason, 'at', to_char(v_told.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'error', holdfast.error_of_event(v_told.id, v_told.attempt, v_told.at, p_kind)));
    exception when others then
      -- A deadlock, a timeout of a lock, a lack of resources.
      if sqlstate like '40%' or sqlstate like '53%' or sqlstate like '55%' or sqlstate like '57%' then
        raise;
      end if;
      insert into holdfast.log_lines (job_id, attempt, at, level, line)
      values (v_told.id, v_told.attempt, holdfast.now(), 'error', left(format('its webhook was not enqueued: %s', sqlerrm), 4000));
    end;
  end loop;
end $$;
