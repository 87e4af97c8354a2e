-- Batches: any number of jobs that are watched as one, with callbacks when the last of them has ended.

-- Adds up what became of members, under the lock of the batch's row, and returns the batch as it is then. A batch that had ended and has a live
-- member again is in its next round. Members that were added to a cancelled batch, by somebody who had not heard of it, are cancelled too.
create or replace function holdfast.fold_batch(p_batch uuid) returns holdfast.batches language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_batch holdfast.batches;
begin
  with gone as (
    delete from holdfast.group_changes as c where c.group_id = p_batch returning c.was, c.became, c.jobs
  ), moved as (
    select coalesce(sum(g.jobs) filter (where g.became = 'live'), 0) as lived, coalesce(sum(g.jobs) filter (where g.was = 'live'), 0) as ended,
           coalesce(sum(g.jobs) filter (where g.became = 'completed'), 0) as completed,
           coalesce(sum(case when g.became = 'dead' then g.jobs when g.was = 'dead' then -g.jobs end), 0) as dead,
           coalesce(sum(case when g.became = 'cancelled' then g.jobs when g.was = 'cancelled' then -g.jobs end), 0) as cancelled,
           coalesce(sum(g.jobs) filter (where g.became = 'discarded'), 0) as discarded, bool_or(g.was is null) as added
    from gone as g
  )
  update holdfast.batches as b
  set live = b.live + m.lived - m.ended, completed = b.completed + m.completed, dead = b.dead + m.dead, cancelled = b.cancelled + m.cancelled,
      discarded = b.discarded + m.discarded, look_again = false,
      -- Not by whether one is live now: those that were revived may have ended since.
      round = b.round + (b.finished_at is not null and m.lived > 0)::integer,
      status = case when m.lived > 0 then 'running' else b.status end,
      finished_at = case when m.lived = 0 then b.finished_at end,
      cancelled_at = case when b.finished_at is null or m.lived = 0 then b.cancelled_at end,
      cancelled_to = case when m.added and b.cancelled_at is not null then holdfast.lowest_id() else b.cancelled_to end
  from moved as m where b.id = p_batch
  returning b.* into v_batch;
  return v_batch;
end $$;

create or replace function holdfast.lowest_id() returns uuid language sql immutable parallel safe
as $$ select '00000000-0000-0000-0000-000000000000'::uuid $$;

-- Advances one batch: adds up, cancels the next members of a cancelled one, and ends it where no member is live any more. False: somebody else is at it.
create or replace function holdfast.advance_batch(p_batch uuid) returns boolean language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_batch holdfast.batches;
begin
  perform from holdfast.batches as b where b.id = p_batch for update skip locked;
  if not found then
    return false;
  end if;
  v_batch := holdfast.fold_batch(p_batch);
  if v_batch.cancelled_to is not null then
    perform holdfast.cancel_members(v_batch);
    v_batch := holdfast.fold_batch(p_batch);
    update holdfast.batches as b set look_again = true where b.id = p_batch and b.cancelled_to is not null;
  end if;
  if v_batch.live > 0 or v_batch.kept_open or v_batch.finished_at is not null then
    return true;
  end if;
  perform from holdfast.open_groups as g where g.group_id = p_batch for update skip locked;
  if not found then
    update holdfast.batches as b set look_again = true where b.id = p_batch;
    return true;
  end if;
  -- Nobody can add or revive a member from here on, and what was committed until now is seen by another look.
  v_batch := holdfast.fold_batch(p_batch);
  if v_batch.live = 0 then
    perform holdfast.finish_batch(v_batch);
  end if;
  return true;
end $$;

-- Cancels the next thousand live members of a cancelled batch. Members that somebody works on at this moment are passed over, so it walks through all of
-- them again until a whole walk finds none.
create or replace function holdfast.cancel_members(p_batch holdfast.batches) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_live uuid[] := array(
    select m.job_id from holdfast.members as m
    where m.group_id = p_batch.id and m.job_id > p_batch.cancelled_to and exists (select from holdfast.live as l where l.job_id = m.job_id)
    order by m.job_id limit 1000);
begin
  if v_live <> '{}' then
    perform holdfast.cancel_jobs(v_live, holdfast.actor(p_batch.cancelled_by, p_batch.cancelled_why, p_batch.cancelled_from), false);
  end if;
  update holdfast.batches as b
  set cancelled_to = case when cardinality(v_live) = 1000 then v_live[1000]
                          when v_live <> '{}' or p_batch.cancelled_to <> holdfast.lowest_id() then holdfast.lowest_id() end
  where b.id = p_batch.id;
end $$;

-- Ends a batch, whose rows the caller has locked, and enqueues the callbacks that are due: complete always; success where all members completed; failure
-- where some did not and nobody cancelled the batch. Their jobs have no unique key, whatever their type says: one must not stand for another.
create or replace function holdfast.finish_batch(p_batch holdfast.batches) returns void language plpgsql as $$
declare
  v_status constant text := case when p_batch.cancelled_at is not null then 'cancelled'
                                 when p_batch.dead + p_batch.cancelled + p_batch.discarded > 0 then 'failed' else 'succeeded' end;
  v_due constant text[] := case v_status when 'succeeded' then '{success,complete}' when 'failed' then '{failure,complete}' else '{complete}' end;
begin
  delete from holdfast.open_groups as g where g.group_id = p_batch.id;
  update holdfast.batches as b set status = v_status, finished_at = holdfast.now(), cancelled_to = null, look_again = false where b.id = p_batch.id;
  perform holdfast.enqueue_callback(p_batch, k.kind, p_batch.callbacks -> k.kind) from unnest(v_due) as k (kind) where p_batch.callbacks ? k.kind;
end $$;

create or replace function holdfast.enqueue_callback(p_batch holdfast.batches, p_kind text, p_job jsonb) returns void language plpgsql as $$
declare
  v_id constant uuid := holdfast.new_job_id();
begin
  insert into holdfast.batch_callbacks (batch_id, round, kind, job_id) values (p_batch.id, p_batch.round, p_kind, v_id);
  perform holdfast.enqueue_jobs(
    array[v_id], array[p_job ->> 'type'], array[p_job ->> 'payload'], array[(p_job ->> 'priority')::smallint],
    array[(p_job ->> 'max_attempts')::smallint], array[(p_job ->> 'delay_ms')::double precision], array[]::timestamptz[], array[]::text[],
    array[p_job ->> 'concurrency_key'], true, false, true,
    p_approvals => case when p_job ? 'approval' then array[p_job -> 'approval'] end, p_uniques => array['false'],
    p_traces => array[p_job ->> 'traceparent'], p_owner => p_batch.owner,
    p_tags => case when p_job ? 'tags' then array[(select array_agg(t)::text from jsonb_array_elements_text(p_job -> 'tags') as t)] end,
    p_expire_ins_ms => case when p_job ? 'expire_in_ms' then array[(p_job ->> 'expire_in_ms')::double precision] end,
    p_webhooks => case when p_job ? 'webhook' then array[p_job -> 'webhook'] end);
end $$;

-- Makes a batch, open until its first members have joined it in the same transaction. p_callbacks: as the table has them. False: there is one with
-- this id already, of the same owner.
create or replace function holdfast.create_batch(p_id uuid, p_name text, p_owner text, p_callbacks jsonb, p_keep_open boolean) returns boolean
language plpgsql
set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
begin
  perform holdfast.check_types(array(select c.value ->> 'type' from jsonb_each(p_callbacks) as c));
  insert into holdfast.batches (id, name, owner, created_at, kept_open, callbacks) values (p_id, p_name, p_owner, holdfast.now(), p_keep_open, p_callbacks)
  on conflict do nothing;
  if found then
    insert into holdfast.open_groups (group_id, kind) values (p_id, 'batch');
    return true;
  end if;
  if p_owner is not null and (select b.owner is distinct from p_owner from holdfast.batches as b where b.id = p_id) then
    raise exception 'id % belongs to another batch: it is not yours', p_id using errcode = 'HF410';
  end if;
  return false;
end $$;

-- Makes jobs that were stored in this transaction members of a batch; returns how many were not yet. p_owner: the service that asks; null: the application
-- itself. p_new: create_batch made the batch in this transaction; where it has no member and is not kept open, it ends here.
create or replace function holdfast.join_batch(p_batch uuid, p_jobs uuid[], p_owner text, p_new boolean) returns integer
language plpgsql
set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_batch holdfast.batches;
  v_joined integer;
begin
  perform from holdfast.open_groups as g where g.group_id = p_batch for share;
  -- After the lock, so that it is not older than that.
  select * into v_batch from holdfast.batches as b where b.id = p_batch and (p_owner is null or b.owner = p_owner);
  if not found then
    perform holdfast.no_such_batch(p_batch);
  elsif v_batch.cancelled_at is not null then
    raise exception 'batch % was cancelled by %', p_batch, v_batch.cancelled_by using errcode = 'HF007', hint = 'Put the jobs into another batch.';
  elsif v_batch.finished_at is not null then
    raise exception 'batch % has ended: it %', p_batch, v_batch.status using errcode = 'HF007',
      hint = 'Put the jobs into another batch; one that is created with "open" does not end before it is closed.';
  end if;
  insert into holdfast.members (job_id, group_id, kind) select j, p_batch, 'batch' from unnest(p_jobs) as j on conflict do nothing;
  get diagnostics v_joined = row_count;
  if v_joined > 0 then
    insert into holdfast.group_changes (group_id, became, jobs) values (p_batch, 'live', v_joined);
  elsif p_new then
    perform holdfast.advance_batch(p_batch);
  end if;
  return v_joined;
end $$;

create or replace function holdfast.no_such_batch(p_batch uuid) returns void language plpgsql as $$
begin
  raise exception 'no batch % is kept', p_batch using errcode = 'HF404', detail = 'id';
end $$;

-- Lets a batch that was kept open end with its last member, or at once where it has none that is live. False: it was closed already.
create or replace function holdfast.close_batch(p_batch uuid, p_owner text) returns boolean language plpgsql
set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_batch holdfast.batches;
begin
  select * into v_batch from holdfast.batches as b where b.id = p_batch and (p_owner is null or b.owner = p_owner) for update;
  if not found then
    perform holdfast.no_such_batch(p_batch);
  end if;
  update holdfast.batches as b set kept_open = false where b.id = p_batch and b.kept_open;
  if v_batch.kept_open then
    perform holdfast.advance_batch(p_batch);
  end if;
  return v_batch.kept_open;
end $$;

-- Begins to cancel whatever is live of a batch; advance_batch goes on with it, and whoever calls this should, too. Returns what the batch was: where that
-- is not running, it has ended and nothing is changed.
create or replace function holdfast.cancel_batch(p_batch uuid, p_owner text, p_actor holdfast.actor) returns text language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_batch holdfast.batches;
begin
  perform from holdfast.batches as b where b.id = p_batch and (p_owner is null or b.owner = p_owner) for update;
  if not found then
    perform holdfast.no_such_batch(p_batch);
  end if;
  v_batch := holdfast.fold_batch(p_batch);
  if v_batch.status = 'running' then
    update holdfast.batches as b
    set cancelled_at = holdfast.now(), cancelled_by = p_actor.name, cancelled_why = p_actor.why, cancelled_from = p_actor.origin,
        cancelled_to = holdfast.lowest_id(), kept_open = false, look_again = true
    where b.id = p_batch;
    perform holdfast.audit('cancel_batch', p_batch::text, jsonb_build_object('status', v_batch.status, 'live', v_batch.live), null, p_actor);
  end if;
  return v_batch.status;
end $$;

-- Goes on with a batch that is being cancelled. Returns whether members are left that were not asked to stop.
create or replace function holdfast.cancel_on(p_batch uuid) returns boolean language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  perform holdfast.advance_batch(p_batch);
  return exists (select from holdfast.batches as b where b.id = p_batch and b.cancelled_to is not null);
end $$;

-- The dead members of a batch after that id, for replay_dead.
create or replace function holdfast.dead_members(p_batch uuid, p_after uuid, p_limit integer) returns setof uuid language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select m.job_id from holdfast.members as m
  where m.group_id = p_batch and m.job_id > p_after and exists (select from holdfast.dead_letters as d where d.job_id = m.job_id)
  order by m.job_id limit p_limit
$$;

-- Every batch that is kept, with its counts as they are now: those of its row, and what was not added up yet. Reads no member.
create or replace view holdfast.batch_progress as
  select b.id, b.name, b.owner, case when b.live + c.live > 0 then 'running' else b.status end as status, b.round, b.kept_open as open,
         b.live + c.live + b.completed + c.completed + b.dead + c.dead + b.cancelled + c.cancelled + b.discarded + c.discarded as total,
         b.live + c.live as live, b.completed + c.completed as completed, b.dead + c.dead as dead, b.cancelled + c.cancelled as cancelled,
         b.discarded + c.discarded as discarded, b.created_at, b.finished_at, b.cancelled_at, case when b.cancelled_at is not null then b.cancelled_by end as cancelled_by,
         case when b.cancelled_at is not null then b.cancelled_why end as cancelled_why
  from holdfast.batches as b
  cross join lateral (
    select coalesce(sum(case when g.became = 'live' then g.jobs when g.was = 'live' then -g.jobs end), 0)::integer as live,
           coalesce(sum(g.jobs) filter (where g.became = 'completed'), 0)::integer as completed,
           coalesce(sum(case when g.became = 'dead' then g.jobs when g.was = 'dead' then -g.jobs end), 0)::integer as dead,
           coalesce(sum(case when g.became = 'cancelled' then g.jobs when g.was = 'cancelled' then -g.jobs end), 0)::integer as cancelled,
           coalesce(sum(g.jobs) filter (where g.became = 'discarded'), 0)::integer as discarded
    from holdfast.group_changes as g where g.group_id = b.id
  ) as c;

-- Removes batches that ended long ago, with what says who their members were: as long as a completed job is kept, and as long as a dead one where a
-- member is dead. At most p_limit members at a time. Returns how many rows went.
create or replace function holdfast.sweep_batches(p_completed interval, p_dead interval, p_limit integer) returns integer language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_batch uuid;
  v_gone integer;
  v_total integer := 0;
begin
  for v_batch in
    select b.id from holdfast.batches as b
    where b.finished_at < holdfast.now() - p_completed and (b.dead = 0 or b.finished_at < holdfast.now() - greatest(p_completed, p_dead))
      and not exists (select from holdfast.group_changes as c where c.group_id = b.id)
    order by b.finished_at limit 100 for update skip locked
  loop
    delete from holdfast.members as m where m.ctid = any (array(
      select o.ctid from holdfast.members as o where o.group_id = v_batch limit p_limit - v_total));
    get diagnostics v_gone = row_count;
    v_total := v_total + v_gone;
    exit when v_total >= p_limit;
    delete from holdfast.batch_callbacks as c where c.batch_id = v_batch;
    delete from holdfast.batches as b where b.id = v_batch;
  end loop;
  return v_total;
end $$;
