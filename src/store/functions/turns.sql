-- Keys take turns: which jobs a claim takes through a gate that tells keys apart.

-- The keys of a type that have jobs before its gate, waiting or running, from one to the next by the index, however many jobs each has.
create or replace function holdfast.walk_keys(p_type integer, p_from text, p_to text, p_limit integer) returns text[]
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off set plan_cache_mode = force_generic_plan
as $$
begin
  return array(
    with recursive walk (key, nth) as (
      (select q.concurrency_key, 1 from holdfast.queue as q
       where q.type_id = p_type and q.pass > 0 and q.concurrency_key >= p_from
       order by q.concurrency_key limit 1)
      union all
      select n.key, w.nth + 1 from walk as w cross join lateral (
        select q.concurrency_key as key from holdfast.queue as q
        where q.type_id = p_type and q.pass > 0 and q.concurrency_key > w.key order by q.concurrency_key limit 1) as n
      where w.nth < p_limit and (p_to is null or w.key < p_to)
    )
    select w.key from walk as w where p_to is null or w.key < p_to);
end $$;

-- Takes jobs key by key, in turns: each key has as many of a round as its weight says, and the next claim goes on where this one ends, so
-- that no key waits for more than one round of the others and no row of a key has to be written. The claim passes over keys that are paused,
-- stopped for a time or halted, have reached their rate or their limit, or wait for a job of theirs outside of the queue. It looks at 2,000 keys at
-- most; where it may take a job of none of these, the next claim goes on after them. Of a key with a limit none of whose jobs runs it may take several, which its worker runs one
-- after the other: they take one slot. p_known: the newest version of payloads that the worker reads, null where it reads all.
create or replace function holdfast.take_by_turn(
  p_gate holdfast.gates, p_limit integer, p_slots integer, p_in_a_row integer, p_now timestamptz, p_known smallint,
  out rows tid[], out jobs uuid[], out keys text[]
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = on set enable_mergejoin = off set enable_nestloop = on
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_walk integer := least(2000, p_limit + 8);
  v_from text := p_gate.turn_key;
  v_wrapped boolean := p_gate.turn_key = '';
  v_round_over boolean := false;
  v_keys text[];
  v_some text[];
  v_looked integer := 0;
  v_full jsonb;
  v_unit double precision := 1;
  v_marked boolean := exists (select from holdfast.keys as k where k.type_id = p_gate.type_id);
  v_left integer := p_limit;
  v_slots integer := p_slots;
  v_took record;
  v_turn_key text := p_gate.turn_key;
  v_turn_taken double precision := p_gate.turn_taken;
begin
  if p_gate.key_max_running is not null then
    select jsonb_object_agg(k.key, k.jobs) into v_full
    from (select r.concurrency_key as key, count(*)::integer as jobs from holdfast.gate_running(p_gate.type_id) as r
          where r.concurrency_key <> '' group by r.concurrency_key) as k;
  end if;
  if v_marked then
    v_unit := least(1, (select min(k.weight) from holdfast.keys as k where k.type_id = p_gate.type_id));
  end if;
  while v_left > 0 and v_slots > 0 and not v_round_over and v_looked < 2000 loop
    v_keys := '{}';
    while cardinality(v_keys) < v_walk and not v_round_over loop
      v_some := holdfast.walk_keys(p_gate.type_id, v_from, case when v_wrapped and p_gate.turn_key <> '' then p_gate.turn_key end, v_walk);
      v_keys := v_keys || case when v_looked + cardinality(v_keys) > 0 and v_some[1] = v_from then v_some[2:] else v_some end;
      if cardinality(v_some) = v_walk then
        v_from := v_some[v_walk];
      elsif v_wrapped then
        v_round_over := true;
      else
        v_wrapped := true;
        v_from := '';
      end if;
    end loop;
    exit when v_keys = '{}';
    -- Where these are shut, more at a time.
    v_walk := least(2000, v_walk * 4);
    select * into v_took from holdfast.take_of_keys(
      p_gate, v_keys, case when v_looked = 0 and v_keys[1] = p_gate.turn_key then p_gate.turn_taken else 0 end, v_full, v_marked,
      v_unit, v_left, v_slots, p_in_a_row, p_now, p_known);
    v_looked := v_looked + cardinality(v_keys);
    if v_took.rows is not null then
      rows := rows || v_took.rows;
      jobs := jobs || v_took.jobs;
      keys := keys || v_took.keys;
      v_left := v_left - cardinality(v_took.rows);
      v_slots := v_slots - v_took.slots;
      v_turn_key := v_took.turn_key;
      v_turn_taken := v_took.turn_taken;
    end if;
  end loop;
  if rows is null and not v_round_over and v_looked > 0 then
    v_turn_key := v_from;
    v_turn_taken := 0;
  end if;
  if (v_turn_key, v_turn_taken) is distinct from (p_gate.turn_key, p_gate.turn_taken) then
    update holdfast.gates as g set turn_key = v_turn_key, turn_taken = v_turn_taken where g.type_id = p_gate.type_id;
  end if;
end $$;

-- Takes jobs of these keys, in this order, round by round. p_taken: how many of its turn the first has had. p_full: keys of
-- which jobs run, and how many. p_marked: some key of the type has a row in keys. p_unit: the smallest weight, which counts as one job.
create or replace function holdfast.take_of_keys(
  p_gate holdfast.gates, p_keys text[], p_taken double precision, p_full jsonb, p_marked boolean,
  p_unit double precision, p_limit integer, p_slots integer, p_in_a_row integer, p_now timestamptz, p_known smallint,
  out rows tid[], out jobs uuid[], out keys text[], out slots integer, out turn_key text, out turn_taken double precision
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = on set enable_mergejoin = off set enable_nestloop = on
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  -- How many jobs of a key of weight 1 are read. So few that most of what is read is taken, and more where keys with fewer jobs leave room.
  v_share integer := ceil(p_limit::double precision / cardinality(p_keys));
  v_cut boolean;
  v_rate_window interval := holdfast.rate_window(p_gate.key_rate_per);
  -- Of an ordered key nobody takes a later job because the first is too new. Of others a claim looks at the first 500.
  v_known smallint := case when not p_gate.ordered then p_known end;
  v_rows tid[];
  v_jobs uuid[];
  v_keys text[];
begin
  loop
    select array_agg(t.row_at order by t.round, t.nth), array_agg(t.job_id order by t.round, t.nth), array_agg(t.key order by t.round, t.nth),
           count(*) filter (where t.counts), (array_agg(t.key order by t.round desc, t.nth desc))[1],
           (array_agg(t.had - (t.round - 1) * t.weight order by t.round desc, t.nth desc))[1],
           coalesce(bool_or(t.cut), false)
    into v_rows, v_jobs, v_keys, slots, turn_key, turn_taken, v_cut
    from (
      select c.*, count(*) filter (where c.counts) over (order by c.round, c.nth rows unbounded preceding) as slots_so_far
      from (
        select k.key, k.weight, j.row_at, j.job_id, j.had, ceil(j.had / k.weight) as round,
               -- Who has had their turn comes last in a round.
               case when k.nth = 1 and p_taken >= k.weight then cardinality(p_keys) + 1 else k.nth end as nth,
               k.may_run is null or j.had - k.had_before <= k.may_run as counts,
               j.had - k.had_before >= k.share as cut
        from (
          select w.key, w.nth, coalesce(m.weight, 1) / p_unit as weight, case when w.nth = 1 then p_taken else 0 end as had_before,
                 -- Null: each of them takes a slot.
                 case when w.key <> '' then p_gate.key_max_running - coalesce(f.jobs, 0) end as may_run,
                 v_share * greatest(1, coalesce(m.weight, 1) / p_unit) as share,
                 least(v_share * greatest(1, coalesce(m.weight, 1) / p_unit),
                       case when w.key = '' or p_gate.key_max_running is null then p_limit
                            when f.jobs is null then p_gate.key_max_running * p_in_a_row
                            else p_gate.key_max_running - f.jobs end,
                       case when w.key <> '' and p_gate.key_rate_count is not null then p_gate.key_rate_count - coalesce((
                         select sum(s.count) from holdfast.starts as s where s.type_id = p_gate.type_id and s.concurrency_key = w.key
                           and s.at > p_now - v_rate_window), 0) end) as most
          from unnest(p_keys) with ordinality as w (key, nth)
          cross join lateral (select (p_full ->> w.key)::integer as jobs) as f
          left join holdfast.keys as m on p_marked and m.type_id = p_gate.type_id and m.concurrency_key = w.key
          where (m.paused_at is null or m.paused_until <= p_now) and m.halted_at is null and (m.rests_until is null or m.rests_until <= p_now)
        ) as k
        cross join lateral (
          select n.ctid as row_at, n.job_id, row_number() over (order by n.seq, n.job_id) + k.had_before as had
          from (
            select f.ctid, f.job_id, f.seq from (
              select q.ctid, q.job_id, q.seq from holdfast.queue as q
              where q.type_id = p_gate.type_id and q.concurrency_key = k.key and q.pass > 0 and q.lease_id is null
              order by q.seq, q.job_id limit greatest(0, case when v_known is null then k.most else least(k.most, 1) * 500 end)::bigint
            ) as f
            where v_known is null or not exists (select from holdfast.bodies as b where b.id = f.job_id and b.version > v_known)
            order by f.seq, f.job_id limit greatest(0, k.most)::bigint
          ) as n
          where not p_gate.ordered or k.key = '' or not holdfast.is_behind(p_gate.type_id, k.key, n.seq, n.job_id)
        ) as j
      ) as c
      order by c.round, c.nth limit p_limit
    ) as t
    where t.slots_so_far <= p_slots;
    exit when not v_cut or cardinality(v_rows) = p_limit or slots = p_slots;
    v_share := least(p_limit, v_share * 16);
  end loop;
  -- One that is locked is being replaced or cancelled: the gate does not wait for that.
  select array_agg(l.ctid), array_agg(l.job_id), array_agg(l.concurrency_key) into rows, jobs, keys
  from (
    select q.ctid, q.job_id, q.concurrency_key from holdfast.queue as q
    where q.ctid = any (v_rows) and q.lease_id is null and q.pass > 0
      -- A job that has just got another key is not the first of that one.
      and (not p_gate.ordered or q.concurrency_key = v_keys[array_position(v_jobs, q.job_id)])
    for update skip locked
  ) as l;
end $$;
