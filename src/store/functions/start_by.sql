-- Jobs that are of no use after a time: what has not started by then ends dead, as expired, and is never started. Of jobs without such a
-- time nothing here is asked: one look at an empty index is all that claim and tick pay.

-- Whether a job that does not run has run before: then it has started, and its time is of no concern any more.
create or replace function holdfast.has_started(p_job uuid, p_attempt smallint) returns boolean language sql stable
as $$ select p_attempt > 1 or exists (select from holdfast.history as h where h.job_id = p_job and h.started_at is not null) $$;

-- Notes until when jobs have to have started: by that time, or that many milliseconds from now. A job that was replaced by several of
-- one enqueue has the time of the last.
create or replace function holdfast.set_start_deadlines(p_jobs uuid[], p_start_bys timestamptz[], p_expire_ins_ms double precision[]) returns void
language sql volatile as $$
  insert into holdfast.start_deadlines (job_id, start_by, look_at)
  select distinct on (a.job_id) a.job_id, t.start_by, t.start_by
  from unnest(p_jobs, p_start_bys, p_expire_ins_ms) with ordinality as a (job_id, start_by, expire_in, ordinal)
  cross join lateral (select coalesce(a.start_by, holdfast.now() + a.expire_in * interval '1 millisecond') as start_by) as t
  where a.job_id is not null and t.start_by is not null
  order by a.job_id, a.ordinal desc
  on conflict (job_id) do update set start_by = excluded.start_by, look_at = excluded.look_at
$$;

-- Of these rows of the queue, which the caller has locked, those that may start, in their order.
create or replace function holdfast.in_time(p_rows tid[]) returns tid[]
language sql volatile
set enable_seqscan = off set enable_nestloop = on set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select coalesce(array_agg(r.row_at order by r.nth), '{}')
  from unnest(p_rows) with ordinality as r (row_at, nth) join holdfast.queue as q on q.ctid = r.row_at
  where not exists (
    select from holdfast.start_deadlines as d
    where d.job_id = q.job_id and d.start_by <= holdfast.now() and not holdfast.has_started(q.job_id, q.attempt))
$$;

-- Jobs at whose time tick has to look, at most p_limit, locked for the caller.
create or replace function holdfast.past_start(p_limit integer, p_aside uuid[]) returns uuid[]
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
begin
  return array(
    select d.job_id from holdfast.start_deadlines as d where d.look_at <= holdfast.now() and d.job_id <> all (p_aside)
    order by d.look_at limit p_limit for update skip locked);
end $$;

-- Ends those of these jobs that have not started and whose time is over; the others lose their time, because they have started or ended.
-- One that a worker has claimed, or that somebody works on at this moment, is looked at again soon: a claim can be handed back unstarted.
-- settles_lock comes before every row, and tick may hold rows by now, so it is tried and not waited for: whoever has it alone waits for rows.
create or replace function holdfast.expire_jobs(p_jobs uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_held uuid[];
  v_late uuid[];
  v_again uuid[];
begin
  if not pg_try_advisory_xact_lock_shared(holdfast.settles_lock()) then
    update holdfast.start_deadlines as d set look_at = v_now + interval '1 second' where d.job_id = any (p_jobs);
    return;
  end if;
  v_held := array(select l.job_id from holdfast.lock_unheld(p_jobs) as l);
  select array_agg(l.job_id) filter (where l.lease_id is null and l.job_id = any (v_held)),
         array_agg(l.job_id) filter (where l.lease_id is not null or l.job_id <> all (v_held))
  into v_late, v_again
  from holdfast.live as l where l.job_id = any (p_jobs) and not holdfast.has_started(l.job_id, l.attempt);
  update holdfast.start_deadlines as d set look_at = v_now + interval '5 seconds' where d.job_id = any (v_again);
  with ended as (
    delete from holdfast.start_deadlines as d where d.job_id = any (p_jobs) and (v_again is null or d.job_id <> all (v_again))
    returning d.job_id, d.start_by
  ), gone as materialized (
    select o.job_id, o.type_id, o.priority, o.attempt, e.start_by
    from holdfast.take_out(v_late) as o join ended as e on e.job_id = o.job_id
  ), counted as (
    insert into holdfast.event_counts (type_id, what, count) select g.type_id, 'expired', count(*) from gone as g group by g.type_id
  ), counted_errors as (
    insert into holdfast.error_counts (type_id, fingerprint, at, job_id, count)
    select g.type_id, holdfast.fingerprint_named('Expired'), v_now, (array_agg(g.job_id))[1], count(*) from gone as g group by g.type_id
  )
  insert into holdfast.dead_letters (job_id, died_at, type_id, priority, attempt, reason, error)
  select g.job_id, v_now, g.type_id, g.priority, g.attempt, 'expired', jsonb_build_object('name', 'Expired', 'message',
    format('it had not started by %s', to_char(g.start_by at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
    'fingerprint', holdfast.fingerprint_named('Expired'))
  from gone as g;
  -- A key that halts does so under the lock of its gate, as in a settle.
  perform from holdfast.gates as g
  where g.halt_on_dead and g.type_id = any (array(select d.type_id from holdfast.dead_letters as d where d.job_id = any (v_late)))
  order by g.type_id for update;
  perform holdfast.halt_keys(v_late);
  perform holdfast.record_events(v_late, 'dead');
  perform holdfast.after_end(v_late, 'dead');
end $$;
