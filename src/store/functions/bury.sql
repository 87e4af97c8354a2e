-- An operator ends jobs that do not run as dead letters, where they can be looked at, and replayed or discarded.

-- Buries jobs that do not run, wherever they stand: whoever deletes the row decides, as in every other end. Followers start, a reaction is
-- enqueued, a group counts the job as dead. One that runs is refused: its attempt ends by itself, by its worker or by a cancel.
-- settles_lock first, as in a settle: whoever reorders keys holds the gate and waits for the rows that are locked here.
create or replace function holdfast.bury_jobs(p_jobs uuid[], p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_error constant jsonb := jsonb_build_object('name', 'Buried', 'message', concat_ws(': ', 'buried by ' || p_actor.name, p_actor.why),
                                               'by', p_actor.name, 'why', p_actor.why);
  v_live uuid[];
  v_moved holdfast.moved[];
  v_lanes smallint[];
  v_types integer[];
  v_go uuid[];
begin
  perform pg_advisory_xact_lock_shared(holdfast.settles_lock());
  v_live := array(select l.job_id from holdfast.lock_jobs(p_jobs) as l);
  if v_live = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_live(p_jobs[1]);
    return;
  end if;
  with stood as materialized (
    select s.*, s.status <> 'processing' as go from holdfast.live as s where s.job_id = any (v_live)
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select s.job_id, v_now, 'bury', p_actor.name, p_actor.why,
           jsonb_strip_nulls(jsonb_build_object('due_at', nullif(s.due_at, 'infinity'), 'attempt', s.attempt)), '{"reason": "buried"}'
    from stood as s where s.go
  ), buried as (
    -- What waits for its next attempt has come to the one before.
    insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
    select s.job_id, v_now, s.type_id, s.priority, case s.status when 'failed' then greatest(1, s.attempt - 1) else s.attempt end, 'buried',
           -- It stays in the error group of its last failure, if it had one.
           v_error || jsonb_strip_nulls(jsonb_build_object('fingerprint', holdfast.fingerprint_of(s.job_id)))
    from stood as s where s.go
  ), counted as (
    insert into holdfast.event_counts (type_id, what, count) select s.type_id, 'dead', count(*) from stood as s where s.go group by s.type_id
  )
  select array_agg(row (s.job_id, s.go, s.status, case when s.go then 'dead' else s.status end,
                        case when not s.go then 'it runs; cancel it, or bury it when its attempt has ended' end)::holdfast.moved order by s.job_id),
         array_agg(distinct s.lane_id) filter (where s.go), array_agg(distinct s.type_id) filter (where s.go),
         coalesce(array_agg(s.job_id) filter (where s.go), '{}')
  into v_moved, v_lanes, v_types, v_go from stood as s;
  perform holdfast.take_out(v_go);
  -- A key that halts does so under the lock of its gate, as in a settle.
  perform from holdfast.gates as g where g.halt_on_dead and g.type_id = any (v_types) order by g.type_id for update;
  perform holdfast.halt_keys(v_go);
  perform holdfast.record_events(v_go, 'dead');
  perform holdfast.after_end(v_go, 'dead');
  -- The next job of an ordered key may start.
  perform holdfast.wake_lanes(v_lanes, false);
  perform holdfast.audit_moves('bury', v_moved, '{"reason": "buried"}', p_actor);
  return query select * from unnest(v_moved);
end $$;
