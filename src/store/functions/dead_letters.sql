-- What people do about dead letters: find them, replay them, discard them. Whoever deletes the row of a dead letter
-- decides; a second replay, a discard or the end of its keeping finds nothing and says so.

-- Locks dead letters and says which there are. One is waited for; of many, those somebody works on are passed over, as in
-- lock_jobs and for the same reason.
create or replace function holdfast.lock_dead(p_jobs uuid[]) returns uuid[]
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  if cardinality(p_jobs) > 1 then
    return array(select d.job_id from holdfast.dead_letters as d where d.job_id = any (p_jobs) order by d.job_id for update skip locked);
  end if;
  for v_look in 1..100 loop
    perform from holdfast.dead_letters as d where d.job_id = p_jobs[1] for update;
    if found then
      return p_jobs;
    end if;
    -- Its row may have been carried into the partition of its day while we waited for it.
    if not exists (select from holdfast.dead_letters as d where d.job_id = p_jobs[1]) then
      return '{}';
    end if;
  end loop;
  raise exception 'the dead letter of job % moved between tables a hundred times while it was being locked', p_jobs[1] using errcode = '40001';
end $$;

-- The answer for a job that is no dead letter, or no longer.
create or replace function holdfast.not_dead(p_job uuid) returns setof holdfast.moved language sql volatile as $$
  select p_job, false, j.status, j.status, case j.status
    when 'discarded' then 'it was already discarded'
    else coalesce((select format('it was already replayed by %s and is %s', m.actor, j.status) from holdfast.moves as m
                   where m.job_id = p_job and m.move = 'replay' order by m.at desc limit 1),
                  format('it is not dead but %s', j.status)) end
  from (select p_job as id) as asked left join holdfast.jobs as j on j.id = asked.id
$$;

-- Makes dead jobs due again, with all their attempts before them, in one transaction: the dead letter is deleted and the
-- job stands where a job of its type that was just enqueued would stand. The attempts that led to its death stay in history.
-- p_payload: a new payload, for one job; what it was is kept as the exact text. A job that had to be approved was approved
-- with the old one, so with a new one it is asked for again, without a deadline. Its checkpoint and steps were about the old one too.
-- A job whose unique key another one stands for now waits behind that one: two of one key do not run at once.
-- In an ordered key it takes its old position, before all that were enqueued after it; where it had halted the key, that goes on behind it.
-- p_confirmed: the sensitive types that are meant. Where one is not among them, nothing is moved.
create or replace function holdfast.replay_dead(p_jobs uuid[], p_payload text, p_actor holdfast.actor, p_confirmed text[] default '{}')
returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_dead uuid[] := holdfast.lock_dead(p_jobs);
  v_sensitive text[] := array(select distinct t.name from holdfast.dead_letters as d join holdfast.types as t on t.id = d.type_id
                              where d.job_id = any (v_dead) and t.sensitive order by t.name);
  v_moved holdfast.moved[];
  v_go uuid[];
  v_ask uuid[];
  v_behind uuid[];
begin
  if v_dead = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_dead(p_jobs[1]);
    return;
  end if;
  -- A dead letter should not outlive its body. One that did has nothing to run with, and stays where people see it.
  v_dead := array(select d from unnest(v_dead) as d where exists (select from holdfast.bodies as b where b.id = d) order by d);
  if v_dead = '{}' then
    return query select d, false, 'dead', 'dead', 'its body is missing from the database; it can only be discarded'
      from unnest(p_jobs) as d where cardinality(p_jobs) = 1;
    return;
  end if;
  if not v_sensitive <@ p_confirmed then
    raise exception 'not confirmed' using errcode = 'HF008', detail = to_jsonb(v_sensitive);
  end if;
  perform holdfast.hold_order(array(select t.name from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
                                    where b.id = any (v_dead) and b.concurrency_key is not null));
  if p_payload is not null then
    perform holdfast.refuse_plaintext(array(select t.name from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
                                            where b.id = any (v_dead)), array[p_payload]);
  end if;
  with risen as (
    delete from holdfast.dead_letters as d where d.job_id = any (v_dead) returning d.*
  ), known as materialized (
    -- One that expired before enough people had approved it waits for them again.
    select r.*, b.payload, t.lane_id, (p_payload is not null or not holdfast.is_approved(r.job_id)) and exists (
      select from holdfast.approval_requests as a where a.job_id = r.job_id) as asks
    from risen as r join holdfast.bodies as b on b.id = r.job_id join holdfast.types as t on t.id = r.type_id
  ), told as (
    insert into holdfast.moves (job_id, at, move, actor, why, before, after)
    select k.job_id, v_now, 'replay', p_actor.name, p_actor.why,
           jsonb_strip_nulls(jsonb_build_object('died_at', k.died_at, 'reason', k.reason, 'attempt', k.attempt,
             'payload', case when p_payload is not null then k.payload::text end,
             'approved_by', case when k.asks then (select jsonb_agg(a.actor order by a.at) from holdfast.approvals as a
                                                   where a.job_id = k.job_id and a.verdict = 'approve') end)),
           jsonb_strip_nulls(jsonb_build_object('attempt', 1, 'payload', p_payload))
    from known as k
  ), back as (
    insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status, key_position)
    select k.job_id, case when k.asks then 'infinity' else v_now end, k.type_id, k.lane_id, k.priority, 1,
           case when k.asks then 'awaiting_approval' else 'scheduled' end, holdfast.key_position_of(k.job_id, 1)
    from known as k
  ), counted as (
    insert into holdfast.event_counts (type_id, what, count) select k.type_id, 'replayed', count(*) from known as k group by k.type_id
  )
  select array_agg(row (k.job_id, true, 'dead', case when k.asks then 'awaiting_approval' else 'pending' end, null)::holdfast.moved
                   order by k.job_id),
         array_agg(k.job_id) filter (where not k.asks), array_agg(k.job_id) filter (where k.asks)
  into v_moved, v_go, v_ask from known as k;
  -- Attempts are counted from one again, and what an earlier number said must not outrank them.
  delete from holdfast.progress as p where p.job_id = any (v_dead);
  if p_payload is not null then
    update holdfast.bodies as b set payload = p_payload::json, version = nullif(t.version, 1),
      search_keys = case when t.searchable is not null then holdfast.search_keys(t.searchable, p_payload::jsonb) end from holdfast.types as t
    where b.id = any (v_dead) and t.id = b.type_id;
    delete from holdfast.checkpoints as c where c.job_id = any (v_dead);
    delete from holdfast.steps as s where s.job_id = any (v_dead);
    delete from holdfast.approvals as a where a.job_id = any (v_ask);
  end if;
  update holdfast.approval_requests as a set deadline = null, run_at = null, revision = a.revision + case when p_payload is null then 0 else 1 end
  where a.job_id = any (v_ask);
  v_behind := holdfast.stand_behind_keys(v_dead);
  v_go := array(select g from unnest(v_go) as g where g <> all (v_behind));
  if v_behind <> '{}' then
    v_moved := array(select row (m.job_id, m.done, m.was, case when m.job_id = any (v_behind) then 'blocked' else m.status end, m.because)::holdfast.moved
                     from unnest(v_moved) as m);
  end if;
  perform holdfast.make_ready(v_go, v_now, true);
  perform holdfast.release_keys(v_dead);
  perform holdfast.after_revival(v_dead, 'dead');
  perform holdfast.audit_moves('replay', v_moved, jsonb_build_object('attempt', 1, 'new_payload', p_payload is not null)
    || case when v_sensitive = '{}' then '{}' else jsonb_build_object('confirmed', v_sensitive) end, p_actor);
  return query select * from unnest(v_moved);
end $$;

-- Ends dead jobs for good: nobody wants them to run. History says who decided that.
create or replace function holdfast.discard_dead(p_jobs uuid[], p_actor holdfast.actor) returns setof holdfast.moved
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_dead uuid[] := holdfast.lock_dead(p_jobs);
  v_moved holdfast.moved[];
begin
  if v_dead = '{}' and cardinality(p_jobs) = 1 then
    return query select * from holdfast.not_dead(p_jobs[1]);
    return;
  end if;
  with gone as (
    delete from holdfast.dead_letters as d where d.job_id = any (v_dead) returning d.job_id, d.attempt
  ), recorded as (
    insert into holdfast.history (job_id, ended_at, outcome, attempt, error)
    select g.job_id, holdfast.now(), 'discarded', g.attempt,
           jsonb_build_object('name', 'Discarded', 'message', concat_ws(': ', 'discarded by ' || p_actor.name, p_actor.why), 'by', p_actor.name, 'why', p_actor.why)
    from gone as g
  )
  select array_agg(row (g.job_id, true, 'dead', 'discarded', null)::holdfast.moved order by g.job_id) into v_moved from gone as g;
  perform holdfast.record_events(v_dead, 'discarded');
  perform holdfast.release_keys(v_dead);
  perform holdfast.record_changes(v_dead, 'dead', 'discarded');
  perform holdfast.audit_moves('discard', v_moved, null, p_actor);
  return query select * from unnest(v_moved);
end $$;

-- Dead letters that fit a filter, newest first, from a cursor on. Reads at most p_scan of them, so that a text that stands
-- in none of a million errors costs many short looks and never a long one; a row that does not fit says how far it read. Of a batch or an
-- execution with up to a thousand jobs (p_batch) each is looked up; of a larger one every dead letter is asked whether it is part of it.
-- Planned for what is asked: which index is best depends on it.
create or replace function holdfast.find_dead(
  p_type text, p_reason text, p_error text, p_died_from timestamptz, p_died_before timestamptz,
  p_before_at timestamptz, p_before_job uuid, p_limit integer, p_scan integer, p_tags text[] default null, p_batch uuid default null
) returns table (
  job_id uuid, died_at timestamptz, type_id integer, priority smallint, attempt smallint, reason text, error jsonb, fits boolean
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  v_type integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_members uuid[] := case when p_batch is not null then array(select m.job_id from holdfast.members as m where m.group_id = p_batch limit 1001) end;
  v_ask constant boolean := coalesce(cardinality(v_members) > 1000, false);
  v_seen integer := 0;
  v_found integer := 0;
begin
  if v_ask then
    v_members := null;
  end if;
  for job_id, died_at, type_id, priority, attempt, reason, error in
    select d.job_id, d.died_at, d.type_id, d.priority, d.attempt, d.reason, d.error from holdfast.dead_letters as d
    where (v_type is null or d.type_id = v_type) and (p_reason is null or d.reason = p_reason)
      and (v_members is null or d.job_id = any (v_members))
      and (p_died_from is null or d.died_at >= p_died_from) and (p_died_before is null or d.died_at < p_died_before)
      and (p_before_at is null or (d.died_at <= p_before_at and (d.died_at, d.job_id) < (p_before_at, p_before_job)))
    order by d.died_at desc, d.job_id desc limit p_scan
  loop
    v_seen := v_seen + 1;
    fits := (p_error is null or strpos(lower(concat_ws(': ', error ->> 'name', error ->> 'message')), lower(p_error)) > 0)
      and (p_tags is null or exists (select from holdfast.bodies as b where b.id = find_dead.job_id and b.tags @> p_tags))
      and (not v_ask or exists (select from holdfast.members as m where m.job_id = find_dead.job_id and m.group_id = p_batch));
    if fits then
      v_found := v_found + 1;
      return next;
      exit when v_found = p_limit;
    end if;
  end loop;
  if v_seen = p_scan and v_found < p_limit then
    fits := false;
    return next;
  end if;
end $$;
