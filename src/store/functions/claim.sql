-- A worker claims jobs under a lease: step 3 of a job's way (src/README.md).

-- A worker claims at most p_limit free jobs of one lane under one new lease. Rows that another claim has locked are skipped.
-- Order: higher priorities first, but a job that has waited for one ageing step of its lane counts as one priority higher, so that low
-- priorities move too; inside one priority, first in first out.
-- p_after: per priority (0 to 9) the position in the queue up to which this worker has read before. A claim that starts there instead of
-- at the head stays fast while dead index entries pile up under somebody's long transaction; the price is that a job committed late,
-- behind that position, is found only by the next claim from the head. Where others have read further, the claim starts where they
-- stopped (fronts.sql); zero: at the head.
-- p_types: only jobs of these types; null where the worker runs every type of the lane.
-- A lane with a limit of slots is claimed from by one worker at a time, which locks the lane's row; a lane without one takes no lock.
-- Jobs whose type got a gate after they were queued are put before it by the first claim that reads them. Jobs before gates are claimed
-- together with the others, by age: each gate that is open is one more line beside those of the priorities, read under the gate's lock.
-- p_in_a_row: how many jobs of a key with a limit the worker runs one after the other within 50 ms (see take_through_gate).
-- p_within_ms: how long the worker waits for the answer; null: for ever. A claim that takes longer is rolled back, because nobody would
-- run its jobs and each would lose an attempt to a lease that nobody renews. The claim waits half as long for a lock.
-- Returns one row for all jobs, a list in each column, in the order in which they are to run: a row for each job would be stored, sent
-- and read one by one, at twice the cost. lease is null where nothing was claimed. Payloads are joined by U+001F, which JSON never
-- contains; a job whose body is gone has an empty text. traces names only the jobs that
-- are traced, versions those whose payload is not of the first, scheduled those that a schedule made, with the tick in milliseconds. gated lists the types claimed through a gate, rated those whose starts a rate counts, key_limits how many jobs of one key
-- may run at once, by type, and keys the keys of all jobs where there is such a limit: most claims have none of these. waits: the jobs that stand in
-- a sleep or in the wait for a signal, whose handler has to come to it again. waited: for how many
-- milliseconds each had been due.
-- The settings pin the plans, whatever the statistics say: the queue is read by the index queue_claim, and the bodies of all claimed jobs
-- in one walk through their index, where a nested loop would descend it once for each job.
create or replace function holdfast.claim_jobs(
  p_worker integer, p_lane smallint, p_types integer[], p_limit integer, p_lease_ms integer, p_after bigint[],
  p_in_a_row integer default 1, p_within_ms integer default null,
  out lease bigint, out ids uuid[], out seqs bigint[], out types integer[], out priorities smallint[], out attempts smallint[],
  out maxes smallint[], out created double precision[], out payloads text, out traces jsonb, out gated integer[], out rated integer[], out key_limits jsonb,
  out keys text[], out scheduled jsonb, out versions jsonb, out waits uuid[], out waited double precision[]
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = on
set enable_nestloop = off set enable_mergejoin = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz;
  v_front bigint := holdfast.front_of(p_lane, p_types);
  v_after bigint[];
  v_enabled boolean;
  v_step interval;
  v_slots integer;
  v_gated integer[];
  v_aside integer := 0;
  -- Some jobs have a time by which they have to have started; those past it are not claimed, and tick ends them.
  v_timed boolean := exists (select from holdfast.start_deadlines);
  v_late integer := 0;
  v_outdated boolean;
  v_ranks timestamptz[];
  v_best integer;
  v_lead interval;
  v_portion integer;
  v_rows tid[];
  v_jobs uuid[];
  v_last bigint;
  v_found integer;
  v_look boolean;
  v_gates integer[];
  v_uses integer[];
  v_took record;
  v_rated boolean;
  v_start_gates integer[];
  v_start_keys text[];
  v_start_counts integer[];
  v_state text;
  v_error text;
  v_all tid[] := '{}';
  v_all_jobs uuid[];
  v_first uuid;
  v_latest uuid;
  v_left integer := p_limit;
begin
  if p_within_ms is not null then
    perform set_config('lock_timeout', (p_within_ms / 2)::text, true);
  end if;
  -- An operator who sets a limit takes this lock alone, and so waits for every claim that began without the limit. What this claim reads
  -- below it reads under the lock, and so with the limit.
  perform pg_advisory_xact_lock_shared(holdfast.claims_lock());
  v_outdated := holdfast.is_outdated(p_worker);
  select l.enabled, l.ageing, l.slots, array(select t.id from holdfast.types as t where t.gated)
  into v_enabled, v_step, v_slots, v_gated from holdfast.lanes as l where l.id = p_lane;
  if v_slots is not null then
    -- The lane is read again, now locked: the transaction that held the lock may have changed it.
    select l.enabled, l.ageing, l.slots into v_enabled, v_step, v_slots from holdfast.lanes as l where l.id = p_lane for update;
    v_left := least(v_left, v_slots - (select count(*) from holdfast.lane_slots as s where s.lane_id = p_lane));
  end if;
  if not v_enabled then
    return;
  end if;

  v_after := holdfast.from_front(p_after, v_front);
  -- Reads the first free job of every priority without locking it, to know in which order to claim from the priorities. The job itself may
  -- be gone by then.
  select array_agg(head.rank order by p.priority) into v_ranks
  from generate_series(0, 9) as p (priority)
  left join lateral (
    select q.ready_at - p.priority * v_step as rank from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p.priority and q.seq > v_after[p.priority + 1] and q.pass = 0 and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit 1
  ) as head on true;
  if v_gated <> '{}' then
    select g.types, v_ranks || g.ranks, g.uses into v_gates, v_ranks, v_uses from holdfast.open_gates(p_lane, p_types) as g;
    perform from holdfast.gates as g where g.type_id = any (v_gates || v_uses) order by g.type_id for update;
  end if;

  while v_left > 0 loop
    v_best := null;
    v_lead := null;
    for p in reverse cardinality(v_ranks) - 1..0 loop
      if v_ranks[p + 1] is not null then
        if v_best is null or v_ranks[p + 1] < v_ranks[v_best + 1] then
          v_lead := v_ranks[v_best + 1] - v_ranks[p + 1];
          v_best := p;
        else
          v_lead := least(v_lead, v_ranks[p + 1] - v_ranks[v_best + 1]);
        end if;
      end if;
    end loop;
    exit when v_best is null;

    -- Where the jobs of another priority are almost as old, the claim takes half of what is left and compares again; otherwise it takes all
    -- from this one. Once it had to move jobs into "gated", it reads many at a time, because the rest of them are in the way of every other
    -- claim too.
    v_portion := case when v_aside + v_late > 0 then greatest(v_left, 500) when v_lead < v_step then (v_left + 1) / 2 else v_left end;
    v_rated := false;
    if v_best > 9 then
      begin
        lease := coalesce(lease, nextval('holdfast.lease_seq'));
        select * into v_took from holdfast.take_through_gate(v_gates[v_best - 9], least(v_portion, v_left), p_in_a_row, lease, case when v_outdated then p_worker end);
      exception when others then
        -- A gate that fails must not keep everything else in the lane from running.
        get stacked diagnostics v_state = returned_sqlstate, v_error = message_text;
        if holdfast.is_of_no_row(v_state) then
          raise;
        end if;
        perform holdfast.put_aside('admit', t.name, v_error) from holdfast.types as t where t.id = v_gates[v_best - 9];
        select null::tid[] as rows, null::uuid[] as jobs, false as rated into v_took;
      end;
      v_rows := v_took.rows;
      v_jobs := array(select j from unnest(v_took.jobs) as j order by j);
      v_look := false;
      v_rated := v_took.rated;
      if v_rows is not null then
        if exists (select from holdfast.set_aside) then
          delete from holdfast.set_aside as s using holdfast.types as t where s.duty = 'admit' and s.of = t.name and t.id = v_gates[v_best - 9];
        end if;
        gated := gated || v_gates[v_best - 9];
        v_start_gates := v_start_gates || v_took.start_gates;
        v_start_keys := v_start_keys || v_took.start_keys;
        v_start_counts := v_start_counts || v_took.start_counts;
        rated := case when v_took.rated then rated || v_gates[v_best - 9] else rated end;
        key_limits := case when v_took.key_max is not null
          then coalesce(key_limits, '{}') || jsonb_build_object(v_gates[v_best - 9], v_took.key_max) else key_limits end;
      end if;
    else
      select array_agg(free.ctid), array_agg(free.job_id order by free.job_id), max(free.seq), bool_or(free.type_id = any (v_gated))
      into v_rows, v_jobs, v_last, v_look
      from (
        select q.ctid, q.job_id, q.seq, q.type_id from holdfast.queue as q
        where q.lane_id = p_lane and q.priority = v_best and q.seq > v_after[v_best + 1] and q.pass = 0 and q.lease_id is null
          and (p_types is null or q.type_id = any (p_types))
        order by q.seq limit v_portion
        for update skip locked
      ) as free;
    end if;

    if v_rows is null then
      v_ranks[v_best + 1] := null;
      continue;
    end if;
    v_found := cardinality(v_rows);
    if v_best < 10 then
      -- Not where it leaves some of them free: those that are too new for this worker, or more than it takes.
      if not v_outdated and v_portion <= v_left then
        perform holdfast.move_front(v_front, v_best, v_after[v_best + 1], v_last);
      end if;
      v_after[v_best + 1] := v_last;
    end if;
    if v_look then
      v_rows := holdfast.move_aside(v_rows, v_gated);
      v_aside := v_aside + v_found - cardinality(v_rows);
    end if;
    if (v_timed or v_outdated) and v_best < 10 then
      v_late := v_late + cardinality(v_rows);
      v_rows := case when v_timed then holdfast.in_time(v_rows) else v_rows end;
      v_rows := case when v_outdated then holdfast.readable_by(p_worker, v_rows) else v_rows end;
      v_late := v_late - cardinality(v_rows);
    end if;
    v_all := v_all || v_rows[1 : v_left];
    -- This list may have jobs that are not claimed in the end: it only says which bodies to read. The smallest and the largest id say in
    -- which daily partitions they are.
    v_all_jobs := v_all_jobs || v_jobs;
    v_first := least(v_first, v_jobs[1]);
    v_latest := greatest(v_latest, v_jobs[v_found]);
    v_left := v_left - least(v_left, cardinality(v_rows));
    exit when v_left <= 0 or v_aside + v_late > 2000;
    v_ranks[v_best + 1] := case when v_found < v_portion or v_rated then null
      when v_best < 10 then holdfast.head_rank(p_lane, v_best::smallint, p_types, v_last, v_step)
      -- What was just taken stands there still: where others wait as long, they come first now.
      else v_ranks[v_best + 1] + v_step end;
  end loop;

  if v_aside > 0 then
    -- What was put before its gate may be free to pass it, so idle workers are notified to claim at once.
    perform holdfast.wake_lanes(array[p_lane], true);
  end if;
  if v_all = '{}' then
    lease := null;
    return;
  end if;

  -- The clock is read here and not earlier: the claim may have waited for locks, and a lease must not begin in the past.
  v_now := holdfast.now();
  lease := coalesce(lease, nextval('holdfast.lease_seq'));
  with claimed as (
    update holdfast.queue as q set lease_id = lease, lane_id = p_lane where q.ctid = any (v_all)
    returning q.job_id, q.seq, q.type_id, q.priority, q.attempt, q.pass, q.concurrency_key, q.ready_at
  ), leased as (
    insert into holdfast.leases (id, worker_id, claimed_at, expires_at, jobs, lasts_ms)
    select lease, p_worker, v_now, v_now + p_lease_ms * interval '1 millisecond', array_agg(c.job_id), p_lease_ms
    from claimed as c
  )
  select array_agg(j.job_id), array_agg(case when j.pass = 0 then j.seq else 0 end), array_agg(j.type_id), array_agg(j.priority), array_agg(j.attempt),
         array_agg(j.max_attempts), array_agg(date_part('epoch', j.created_at) * 1000),
         string_agg(coalesce(j.payload::text, ''), U&'\001F'),
         jsonb_object_agg(j.job_id, j.traceparent) filter (where j.traceparent is not null),
         array_agg(j.concurrency_key) filter (where key_limits is not null),
         jsonb_object_agg(j.job_id, date_part('epoch', j.scheduled_for) * 1000) filter (where j.scheduled_for is not null),
         jsonb_object_agg(j.job_id, j.version) filter (where j.version is not null),
         array_agg(round(date_part('epoch', v_now - j.ready_at) * 1000))
  into ids, seqs, types, priorities, attempts, maxes, created, payloads, traces, keys, scheduled, versions, waited
  from (
    select c.*, b.max_attempts, b.created_at, b.payload, b.traceparent, b.scheduled_for, b.version
    from claimed as c left join holdfast.bodies as b
      on b.id = c.job_id and b.id = any (v_all_jobs) and b.id >= v_first and b.id <= v_latest
    order by c.priority desc, c.seq, c.job_id
  ) as j;

  if exists (select from holdfast.steps as s where s.state = 'waiting') then
    waits := (select array_agg(s.job_id) from holdfast.steps as s where s.state = 'waiting' and s.job_id = any (ids));
  end if;
  if v_slots is not null then
    insert into holdfast.lane_slots (job_id, lane_id)
    select unnest(l.jobs), p_lane from holdfast.leases as l where l.id = lease
    on conflict on constraint lane_slots_pkey do nothing;
  end if;
  if v_start_gates is not null then
    insert into holdfast.starts (type_id, concurrency_key, at, count)
    select s.gate, s.key, holdfast.now(), s.jobs from unnest(v_start_gates, v_start_keys, v_start_counts) as s (gate, key, jobs);
  end if;
  if clock_timestamp() - statement_timestamp() > p_within_ms * interval '1 millisecond' then
    raise exception 'holdfast: the claim took % ms, longer than its worker waits for it, and was undone',
      round(extract(epoch from clock_timestamp() - statement_timestamp()) * 1000) using errcode = '55P03';
  end if;
end $$;

-- Runs under the plan settings of claim_jobs.
-- The time at which the first free job of one priority became ready, minus one ageing step for each priority; null where no job is free.
create or replace function holdfast.head_rank(p_lane smallint, p_priority smallint, p_types integer[], p_after bigint, p_step interval)
returns timestamptz
language plpgsql as $$
begin
  return (
    select q.ready_at - p_priority * p_step from holdfast.queue as q
    where q.lane_id = p_lane and q.priority = p_priority and q.seq > p_after and q.pass = 0 and q.lease_id is null
      and (p_types is null or q.type_id = any (p_types))
    order by q.seq limit 1
  );
end $$;

-- Whether a claim of these types would find a job, in any lane that is enabled. Reads from the head of the queue, as the first claim of a
-- worker does. The settings pin the plan to the index queue_claim, whatever the statistics say.
create or replace function holdfast.any_free(p_types integer[]) returns boolean
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off set plan_cache_mode = force_generic_plan
as $$
begin
  return exists (
    select from holdfast.lanes as l
    cross join lateral (
      select from holdfast.queue as q
      where q.lane_id = l.id and q.pass = 0 and q.lease_id is null and q.type_id = any (p_types) limit 1
    ) as free
    where l.enabled
      and exists (select from holdfast.types as t where t.id = any (p_types) and l.id = any (t.left_lanes || t.lane_id)));
end $$;

-- Whether any lease has run out, so that its jobs are to be rescued.
-- Reads the lease that ends first and compares it with the clock. Asked for a lease that has ended, the planner would expect to find one soon
-- and read the whole table to find none.
create or replace function holdfast.any_lease_expired() returns boolean language plpgsql as $$
begin
  return coalesce((select l.expires_at < holdfast.now() from holdfast.leases as l order by l.expires_at limit 1), false);
end $$;
