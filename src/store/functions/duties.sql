-- What the clock brings about, apart from claims: jobs become due, deadlines pass, gates open. Each is a duty of its own
-- that runs, is timed and fails alone, because a row that cannot be handled must not keep everything else from running.

-- Errors that are not of a row but of the server, its schema or somebody's lock: nothing is set aside for them.
create or replace function holdfast.is_of_no_row(p_sqlstate text) returns boolean language sql immutable parallel safe
as $$ select p_sqlstate ~ '^(08|0A|25|26|28|3D|3F|40|42|53|55|57|58)' $$;

-- Does one duty for all it is asked to, in one subtransaction. Where that fails, in halves, until what fails stands alone: that
-- is set aside, named in the answer, and comes again after a minute, then two, at last every hour. Twenty such rows end the turn.
-- The answer, where there is anything to say: {"duty", "done", "ms", "failed": [{"of", "error"}]}; without "of" it was no row's fault.
create or replace function holdfast.do_duty(p_duty text, p_of text[], out said jsonb)
language plpgsql as $$
declare
  v_began timestamptz := clock_timestamp();
  v_any_aside boolean := exists (select from holdfast.set_aside);
  v_from integer[] := array[1];
  v_to integer[] := array[cardinality(p_of)];
  v_first integer;
  v_last integer;
  v_part text[];
  v_done integer := 0;
  v_failed jsonb := '[]';
  v_state text;
  v_error text;
begin
  while cardinality(v_from) > 0 and jsonb_array_length(v_failed) < 20 loop
    v_first := v_from[cardinality(v_from)];
    v_last := v_to[cardinality(v_to)];
    v_from := trim_array(v_from, 1);
    v_to := trim_array(v_to, 1);
    v_part := p_of[v_first : v_last];
    begin
      case p_duty
        when 'promote' then perform holdfast.make_ready(v_part::uuid[], null, false);
        when 'deadlines' then perform holdfast.apply_deadlines(v_part::uuid[]);
        when 'followers' then perform holdfast.start_followers(v_part::uuid[]);
        when 'orphans' then perform holdfast.end_orphaned(v_part::uuid[]);
        when 'groups' then perform holdfast.advance_groups(v_part::uuid[]);
        when 'versions' then perform holdfast.release_newer(v_part::uuid[]);
        when 'expire' then perform holdfast.expire_jobs(v_part::uuid[]);
        when 'signals' then perform holdfast.wake_signalled(v_part::uuid[]);
      end case;
      if v_any_aside then
        delete from holdfast.set_aside as s where s.duty = p_duty and s.of = any (v_part);
      end if;
      v_done := v_done + cardinality(v_part);
    exception when others then
      get stacked diagnostics v_state = returned_sqlstate, v_error = message_text;
      if holdfast.is_of_no_row(v_state) then
        v_failed := v_failed || jsonb_build_object('error', v_error);
        exit;
      elsif v_first < v_last then
        v_from := v_from || array[(v_first + v_last) / 2 + 1, v_first];
        v_to := v_to || array[v_last, (v_first + v_last) / 2];
      else
        v_failed := v_failed || jsonb_build_object('of', v_part[1], 'error', v_error);
        perform holdfast.put_aside(p_duty, v_part[1], v_error);
      end if;
    end;
  end loop;
  said := jsonb_build_array(jsonb_build_object('duty', p_duty, 'done', v_done, 'failed', v_failed,
    'ms', extract(epoch from clock_timestamp() - v_began) * 1000));
end $$;

create or replace function holdfast.put_aside(p_duty text, p_of text, p_error text) returns void language sql volatile as $$
  insert into holdfast.set_aside as s (duty, of, error, since, times, again_at, told)
  values (p_duty, p_of, p_error, holdfast.now(), 1, holdfast.now() + interval '1 minute', p_duty <> 'admit')
  on conflict (duty, of) do update
    set error = excluded.error, told = excluded.told, times = s.times + 1, again_at = holdfast.now() + least(interval '1 hour', s.times * interval '2 minutes')
$$;

-- What a duty passes over for now. What is long over was handled by somebody else, or is no more.
create or replace function holdfast.passed_over(p_duty text) returns text[] language plpgsql as $$
begin
  if exists (select from holdfast.set_aside as s where s.again_at < holdfast.now() - interval '10 minutes') then
    delete from holdfast.set_aside as s where s.again_at < holdfast.now() - interval '10 minutes';
  end if;
  return array(select s.of from holdfast.set_aside as s where s.duty = p_duty and s.again_at > holdfast.now());
end $$;

-- Puts jobs that wait for a time, are locked by the caller and are held back by nothing into the queue: for very many that are due at
-- once, in one statement, where make_ready takes them out, lists them, and asks of each where it belongs. p_rows: where they stand in
-- waiting, which cannot change while they are locked. In the answer, what do_duty says of a promotion; null where that failed, and nothing was
-- done: then do_duty finds out which of them cannot be put there.
create or replace function holdfast.promote_free(p_rows tid[]) returns jsonb
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_began timestamptz := clock_timestamp();
  v_done integer;
  v_lanes smallint[];
begin
  with taken as (
    delete from holdfast.waiting as w where w.ctid = any (p_rows) returning w.job_id, w.type_id, w.priority, w.attempt, w.due_at
  ), job as materialized (
    select k.*, t.lane_id from taken as k join holdfast.types as t on t.id = k.type_id order by k.due_at, k.job_id
  ), put as (
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select j.due_at, j.job_id, j.type_id, j.lane_id, j.priority, j.attempt from job as j
  )
  select count(*), array_agg(distinct j.lane_id) into v_done, v_lanes from job as j;
  perform holdfast.wake_lanes(v_lanes, false);
  return jsonb_build_array(jsonb_build_object('duty', 'promote', 'done', v_done, 'failed', '[]'::jsonb,
    'ms', extract(epoch from clock_timestamp() - v_began) * 1000));
exception when others then
  return null;
end $$;

-- Does whatever the time or somebody else's end has made necessary: moves at most p_limit jobs whose time has come from waiting
-- into the queue, ends those that had to start by now, applies the deadlines of approvals, frees followers nobody was sure of and slots of
-- cancelled jobs, advances groups whose members ended, and looks at every gate, since some open by the clock. Where there is nothing to
-- do it is a few looks at indexes and no write.
-- p_after: the due time up to which this worker has promoted before, for the same reason as in claim_jobs.
-- p_within_ms: how long the worker waits for the answer; null: no matter. For a lock it waits half as long.
-- p_types: the types whose gates matter to the worker; null: all.
-- Returns how many were moved, how far it read, in how many milliseconds the next one is due (null: none waits), what each duty
-- that had something to do says of it (null: none had), and whether jobs wait before a gate that may be open.
create or replace function holdfast.tick(p_limit integer, p_after timestamptz, p_within_ms integer default null, p_types integer[] default null)
returns table (promoted integer, read_to timestamptz, next_in_ms double precision, duties jsonb, gate_open boolean)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := holdfast.now();
  v_any_aside boolean := exists (select from holdfast.set_aside);
  v_aside uuid[] := '{}';
  -- Types whose jobs have to be asked where they belong; null: all, because of single jobs that something holds back.
  v_held integer[];
  v_free tid[];
  v_due text[];
  v_unapproved text[];
  v_of text[];
  v_said jsonb;
  v_gate_at timestamptz;
  v_start_at timestamptz;
begin
  if p_within_ms is not null then
    perform set_config('lock_timeout', (p_within_ms / 2)::text, true);
  end if;
  perform holdfast.notice_timeline();
  if exists (select from holdfast.lanes as l where l.ends_at <= v_now) then
    perform holdfast.end_lanes_over(v_now);
  end if;
  if exists (select from holdfast.following as f where f.unsure) then
    v_of := array(select distinct f.follows::text from holdfast.following as f where f.unsure and f.follows::text <> all (holdfast.passed_over('followers')));
    if v_of <> '{}' then
      duties := holdfast.do_duty('followers', v_of);
    end if;
  end if;
  if exists (select from holdfast.signals as g where g.unsure) then
    v_of := array(select distinct g.job_id::text from holdfast.signals as g where g.unsure and g.job_id::text <> all (holdfast.passed_over('signals')));
    if v_of <> '{}' then
      duties := coalesce(duties, '[]') || holdfast.do_duty('signals', v_of);
    end if;
  end if;
  if v_any_aside then
    v_aside := (holdfast.passed_over('promote') || holdfast.passed_over('deadlines'))::uuid[];
  end if;
  if exists (select from holdfast.newer_jobs) then
    v_of := holdfast.newer_no_more(p_limit, holdfast.passed_over('versions')::uuid[])::text[];
    if v_of <> '{}' then
      duties := coalesce(duties, '[]') || holdfast.do_duty('versions', v_of);
    end if;
  end if;
  if exists (select from holdfast.start_deadlines) then
    v_of := holdfast.past_start(p_limit, holdfast.passed_over('expire')::uuid[])::text[];
    if v_of <> '{}' then
      duties := coalesce(duties, '[]') || holdfast.do_duty('expire', v_of);
    end if;
    v_start_at := (select d.look_at from holdfast.start_deadlines as d where d.job_id::text <> all (holdfast.passed_over('expire'))
                   order by d.look_at limit 1);
  end if;
  if not v_any_aside and not exists (select from holdfast.newer_jobs) then
    v_held := array(select t.id from holdfast.types as t where t.gated);
  end if;
  select array_agg(due.at) filter (where due.is_free), array_agg(due.job_id::text) filter (where not due.is_free and due.status <> 'awaiting_approval'),
         max(due.due_at), array_agg(due.job_id::text) filter (where due.status = 'awaiting_approval')
  into v_free, v_due, read_to, v_unapproved
  from (
    select w.ctid as at, w.due_at, w.job_id, w.status,
           w.status in ('scheduled', 'failed') and coalesce(w.type_id <> all (v_held), false) as is_free
    from holdfast.waiting as w
    where w.due_at >= p_after and w.due_at <= v_now and w.job_id <> all (v_aside)
    order by w.due_at limit p_limit
    for update skip locked
  ) as due;
  if v_unapproved is not null then
    duties := coalesce(duties, '[]') || holdfast.do_duty('deadlines', v_unapproved);
  end if;
  promoted := 0;
  if v_free is not null then
    v_said := holdfast.promote_free(v_free);
    if v_said is null then
      v_due := v_due || array(select w.job_id::text from holdfast.waiting as w where w.ctid = any (v_free));
    else
      promoted := cardinality(v_free);
      duties := coalesce(duties, '[]') || v_said;
    end if;
  end if;
  if v_due is not null then
    v_said := holdfast.do_duty('promote', v_due);
    promoted := promoted + (v_said -> 0 ->> 'done')::integer;
    duties := coalesce(duties, '[]') || v_said;
  end if;
  v_of := holdfast.orphaned_jobs()::text[];
  if v_of <> '{}' and v_any_aside then
    v_of := array(select o from unnest(v_of) as o where o <> all (holdfast.passed_over('orphans')));
  end if;
  if v_of <> '{}' then
    duties := coalesce(duties, '[]') || holdfast.do_duty('orphans', v_of);
  end if;
  if exists (select from holdfast.group_changes) or exists (select from holdfast.batches as b where b.look_again)
     or exists (select from holdfast.executions as e where e.look_again) then
    v_of := holdfast.groups_to_advance()::text[];
    if v_of <> '{}' then
      duties := coalesce(duties, '[]') || holdfast.do_duty('groups', v_of);
    end if;
  end if;
  gate_open := false;
  if exists (select from holdfast.gates) then
    select w.open, w.next_at, w.said into gate_open, v_gate_at, v_said from holdfast.look_at_gates(p_types) as w;
  else
    v_said := null;
  end if;
  if v_said is not null then
    duties := coalesce(duties, '[]') || v_said;
  end if;
  if exists (select from holdfast.set_aside) then
    v_aside := (holdfast.passed_over('promote') || holdfast.passed_over('deadlines'))::uuid[];
  end if;
  select extract(epoch from least(v_gate_at, v_start_at, (select min(l.ends_at) from holdfast.lanes as l), (
    select w.due_at from holdfast.waiting as w
    where w.due_at >= coalesce(read_to, p_after) and w.due_at < 'infinity' and w.job_id <> all (v_aside)
    order by w.due_at limit 1)) - v_now) * 1000
  into next_in_ms;
  return next;
end $$;

-- The lanes that these types run in now, and those they left: jobs of theirs may still turn up there.
create or replace function holdfast.lanes_of(p_types integer[]) returns jsonb
language plpgsql stable
set jit = off
as $$
begin
  return (
    select coalesce(jsonb_agg(lane order by lane.id), '[]') from (
      select l.id, l.name, l.poll_ms as poll, l.lease_ms as lease, l.worker_slots as slots, l.enabled, array_agg(t.id) as types
      from holdfast.lanes as l join holdfast.types as t on l.id = any (t.left_lanes || t.lane_id)
      where t.id = any (p_types) group by l.id
    ) as lane);
end $$;

-- Takes the turn of what one worker of a fleet is enough for, where it is free or already this worker's, and returns 0; or else in how many
-- milliseconds it may be free. Who finds it taken writes and locks nothing. A worker that has stopped frees it, and a clock that was
-- set back; by more than the time of the turn, because who asked first may have been answered last.
create or replace function holdfast.take_fleet_turn(p_worker integer, p_held interval) returns double precision language plpgsql as $$
declare
  v_now timestamptz := holdfast.now();
  v_until timestamptz := (select t.held_until from holdfast.fleet_turn as t
                          where t.held_by <> p_worker and t.held_until > v_now and t.held_until <= v_now + 2 * p_held
                            and not exists (select from holdfast.workers as w where w.id = t.held_by and w.stopped_at is not null));
begin
  if v_until is null then
    insert into holdfast.fleet_turn as t (held_by, held_until) values (p_worker, v_now + p_held)
    on conflict (one) do update set held_by = excluded.held_by, held_until = excluded.held_until
      where t.held_by = p_worker or t.held_until <= v_now or t.held_until > v_now + 2 * p_held
        or exists (select from holdfast.workers as w where w.id = t.held_by and w.stopped_at is not null);
    if found then
      return 0;
    end if;
  end if;
  return greatest(1000, extract(epoch from coalesce(v_until - v_now, p_held)) * 1000);
end $$;
