-- Webhooks of types and of single jobs: a request about what happened to a job is a job too, written by the transaction that made it happen.

-- Enqueues the webhooks for jobs of which something happened. What cannot be enqueued must not keep that from being written, so it is told in the
-- log of the job; what may pass when it is tried again fails the whole, which is tried again, as in react_to_deaths.
create or replace function holdfast.enqueue_webhooks(p_jobs uuid[], p_kind text) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_told record;
begin
  for v_told in
    select b.id, t.name as type, b.tags, w.own, holdfast.now() as at, coalesce(d.attempt, h.attempt, 1::smallint) as attempt, d.reason
    from (
      -- Most settles end no job that has one: one look at each, before anything else is read of it.
      select j.job_id, true as own from holdfast.job_webhooks as j where j.job_id = any (p_jobs) and p_kind = any (j.kinds)
      union all
      select j.id, false from unnest(p_jobs) as j (id)
      where exists (select from holdfast.webhooks) and exists (
        select from holdfast.bodies as b join holdfast.webhooks as w on w.type_id = b.type_id and p_kind = any (w.kinds) where b.id = j.id)
    ) as w
    cross join lateral (select b.id, b.type_id, b.tags from holdfast.bodies as b where b.id = w.job_id limit 1) as b
    join holdfast.types as t on t.id = b.type_id
    left join lateral (
      select h.attempt from holdfast.history as h where h.job_id = w.job_id order by h.ended_at desc limit 1) as h on true
    left join lateral (
      select d.attempt, d.reason from holdfast.dead_letters as d where d.job_id = w.job_id and p_kind = 'dead' limit 1) as d on true
    order by b.id, w.own
  loop
    begin
      perform holdfast.enqueue('holdfast:webhook', jsonb_build_object(
        'kind', p_kind, 'job', v_told.id, 'type', v_told.type, 'tags', coalesce(to_jsonb(v_told.tags), '[]'), 'attempt', v_told.attempt,
        'reason', v_told.reason, 'own', v_told.own, 'at', to_char(v_told.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
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

-- Notes where requests about jobs go. A job that was replaced by several of one enqueue has the webhook of the last that has one.
create or replace function holdfast.set_webhooks(p_jobs uuid[], p_webhooks jsonb[]) returns void language sql volatile as $$
  insert into holdfast.job_webhooks (job_id, url, kinds, secrets)
  select distinct on (a.job_id) a.job_id, a.webhook ->> 'url', array(select jsonb_array_elements_text(a.webhook -> 'kinds')),
         array(select jsonb_array_elements_text(a.webhook -> 'secrets'))
  from unnest(p_jobs, p_webhooks) with ordinality as a (job_id, webhook, ordinal)
  where a.job_id is not null and a.webhook is not null
  order by a.job_id, a.ordinal desc
  on conflict (job_id) do update set url = excluded.url, kinds = excluded.kinds, secrets = excluded.secrets
$$;
