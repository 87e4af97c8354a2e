-- Batches: any number of jobs that are watched as one, with callbacks when the last of them has ended.

-- Adds up what became of members, under the lock of the batch's row, and returns the batch as it is then. A batch that had ended and has a live
-- member again is in its next round.
create or replace function holdfast.fold_batch(p_batch uuid) returns holdfast.batches language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_batch holdfast.batches;
begin
  with gone as (
    delete from holdfast.group_changes as c where c.group_id = p_batch returning c.was, c.became, c.jobs
  ), moved as (
    select sum(g.jobs) filter (where g.became = 'live') as lived, sum(g.jobs) filter (where g.was = 'live') as ended,
           sum(g.jobs) filter (where g.became = 'completed') as completed, sum(g.jobs) filter (where g.became = 'dead') as died,
           sum(g.jobs) filter (where g.was = 'dead') as no_longer_dead, sum(g.jobs) filter (where g.became = 'cancelled') as cancelled,
           sum(g.jobs) filter (where g.was = 'cancelled') as no_longer_cancelled, sum(g.jobs) filter (where g.became = 'discarded') as discarded
    from gone as g
  )
  update holdfast.batches as b
  set live = b.live + coalesce(m.lived, 0) - coalesce(m.ended, 0), completed = b.completed + coalesce(m.completed, 0),
      dead = b.dead + coalesce(m.died, 0) - coalesce(m.no_longer_dead, 0), discarded = b.discarded + coalesce(m.discarded, 0),
      cancelled = b.cancelled + coalesce(m.cancelled, 0) - coalesce(m.no_longer_cancelled, 0), unsure = false,
      round = b.round + (b.finished_at is not null and m.lived > 0)::integer,
      status = case when m.lived > 0 then 'running' else b.status end,
      finished_at = case when m.lived > 0 then null else b.finished_at end
  from moved as m where b.id = p_batch
  returning b.* into v_batch;
  return v_batch;
end $$;

-- Advances one batch: adds up, and ends it where no member is live any more. False: somebody else is at it.
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
  if v_batch.live > 0 or v_batch.kept_open or v_batch.finished_at is not null then
    return true;
  end if;
  perform from holdfast.open_groups as g where g.group_id = p_batch for update skip locked;
  if not found then
    update holdfast.batches as b set unsure = true where b.id = p_batch;
    return true;
  end if;
  -- Nobody can add or revive a member from here on, and what was committed until now is seen by another look.
  v_batch := holdfast.fold_batch(p_batch);
  if v_batch.live = 0 then
    perform holdfast.finish_batch(v_batch);
  end if;
  return true;
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
  update holdfast.batches as b set status = v_status, finished_at = holdfast.now() where b.id = p_batch.id;
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
    p_tags => case when p_job ? 'tags' then array[(select array_agg(t)::text from jsonb_array_elements_text(p_job -> 'tags') as t)] end);
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
    raise exception 'there is no batch %; it never existed, or is no longer kept', p_batch using errcode = 'HF404';
  elsif v_batch.cancelled_at is not null then
    raise exception 'batch % was cancelled by %', p_batch, v_batch.cancelled_by using errcode = 'HF411';
  elsif v_batch.finished_at is not null then
    raise exception 'batch % has ended: %', p_batch, v_batch.status using errcode = 'HF411';
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
