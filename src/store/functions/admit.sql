-- Claims jobs through gates: counts how many may start now, and takes as many.

-- How long a start counts against a rate: a twentieth longer than the rate says, 100 ms longer at most. A start is counted at the claim, and the
-- handler begins a moment later that is not always equally long; the system that the handler calls sees only when the handler begins.
create or replace function holdfast.rate_window(p_per interval) returns interval language sql immutable parallel safe
as $$ select p_per + least(p_per / 20, interval '100 milliseconds') $$;

-- A start in the future shows that the clock was set back since then, by that much at least. This function sets the starts back as well, because
-- jobs would otherwise wait for them as much longer. No start is forgotten before its time. Runs under the gate's lock.
create or replace function holdfast.follow_clock_back(p_type integer, p_now timestamptz) returns void language plpgsql as $$
declare
  v_back interval := (select s.at from holdfast.starts as s where s.type_id = p_type order by s.at desc limit 1) - p_now;
begin
  -- Those of a claim that is just being counted are not from the future.
  if v_back > interval '1 second' then
    update holdfast.starts as s set at = s.at - v_back where s.type_id = p_type and s.at > p_now;
  end if;
end $$;

-- Takes up to p_limit jobs of a type for a lease, as many as its gate and those of the dependencies it uses allow: locks their rows, and records
-- in gate_leases that the lease runs jobs of the type. Runs under the locks of these gates, so that two claims can never exceed a limit together.
-- The claim itself counts the starts when it writes its lease, because a rate counts from then on: by key where the rate is per key, and for
-- each dependency with a rate.
-- p_in_a_row: how many jobs of one key, for each that may run at once, the worker runs one after the other within a moment.
-- p_outdated: the worker that claims, where jobs of the type may be too new for it.
-- rated: starts are counted, and have to come soon. key_max: the worker must see to it that no more of one key run at once.
create or replace function holdfast.take_through_gate(
  p_type integer, p_limit integer, p_in_a_row integer, p_lease bigint, p_outdated integer default null,
  out rows tid[], out jobs uuid[], out rated boolean, out key_max integer,
  out start_gates integer[], out start_keys text[], out start_counts integer[]
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_nestloop = on
set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := holdfast.now();
  v_gate holdfast.gates;
  v_room record;
  v_keys text[];
  v_types integer[] := array[p_type];
  v_rates integer[];
  v_known smallint := case when p_outdated is not null then holdfast.known_version(p_outdated, p_type) end;
begin
  select * into v_gate from holdfast.gates as g where g.type_id = p_type;
  if v_gate.ends_at <= v_now then
    v_gate := holdfast.end_over(p_type, v_now);
  end if;
  if v_gate.uses <> '{}' then
    perform holdfast.end_over(g.type_id, v_now) from holdfast.gates as g where g.type_id = any (v_gate.uses) and g.ends_at <= v_now;
  end if;
  rated := v_gate.rate_count is not null or v_gate.key_rate_count is not null;
  if v_gate.ordered then
    -- One at a time, also for one worker: the next must not begin before the end of this one is written.
    v_gate.key_max_running := 1;
    p_in_a_row := 1;
  end if;
  key_max := v_gate.key_max_running;
  if rated then
    perform holdfast.follow_clock_back(p_type, v_now);
  end if;
  if v_gate.uses <> '{}' then
    v_types := holdfast.and_sharing(v_types);
    v_rates := array(select g.type_id from holdfast.gates as g where g.type_id = any (v_gate.uses) and g.rate_count is not null);
    perform holdfast.follow_clock_back(r.id, v_now) from unnest(v_rates) as r (id);
  end if;
  v_room := holdfast.gate_room(v_gate, p_limit, v_now, p_lease);
  if v_room.room = 0 then
    return;
  end if;
  if v_gate.keyed then
    select t.rows, t.jobs, t.keys into rows, jobs, v_keys
    from holdfast.take_by_turn(v_gate, v_room.room, coalesce(v_room.slots, v_room.room), p_in_a_row, v_now, v_known) as t;
    if cardinality(rows) >= 64 then
      perform holdfast.note_front(v_gate, v_now);
    end if;
  elsif v_known is not null then
    select t.rows, t.jobs into rows, jobs from holdfast.take_readable(v_gate, least(v_room.room, v_room.slots), v_known) as t;
  else
    select t.rows, t.jobs into rows, jobs from holdfast.take_in_order(v_gate, least(v_room.room, v_room.slots), v_now) as t;
  end if;
  if p_outdated is not null then
    select array_agg(r.row_at order by r.nth), array_agg(r.job_id order by r.nth), array_agg(r.key order by r.nth) into rows, jobs, v_keys
    from unnest(rows, jobs, v_keys) with ordinality as r (row_at, job_id, key, nth) where r.row_at = any (holdfast.readable_by(p_outdated, rows));
  end if;
  if exists (select from holdfast.start_deadlines) then
    select array_agg(r.row_at order by r.nth), array_agg(r.job_id order by r.nth), array_agg(r.key order by r.nth) into rows, jobs, v_keys
    from unnest(rows, jobs, v_keys) with ordinality as r (row_at, job_id, key, nth) where r.row_at = any (holdfast.in_time(rows));
  end if;
  if rows is null then
    return;
  end if;
  delete from holdfast.gate_leases as l
  where l.type_id = any (v_types) and l.lease_id <> p_lease and not exists (select from holdfast.leases as e where e.id = l.lease_id);
  insert into holdfast.gate_leases as l (type_id, lease_id, jobs) values (p_type, p_lease, cardinality(rows))
  on conflict (type_id, lease_id) do update set jobs = l.jobs + excluded.jobs;
  if rated then
    delete from holdfast.starts as s
    where s.type_id = p_type and s.at < v_now - holdfast.rate_window(greatest(v_gate.rate_per, v_gate.key_rate_per));
    select array_agg(p_type), array_agg(s.key), array_agg(s.jobs) into start_gates, start_keys, start_counts
    from (select k.key, count(*)::integer as jobs
          from (select case when v_gate.key_rate_count is not null then u.key else '' end as key
                from unnest(jobs, v_keys) as u (job_id, key)) as k group by k.key) as s;
  end if;
  if v_rates <> '{}' then
    rated := true;
    delete from holdfast.starts as s using holdfast.gates as g
    where g.type_id = any (v_rates) and s.type_id = g.type_id and s.at < v_now - holdfast.rate_window(g.rate_per);
    start_gates := start_gates || v_rates;
    start_keys := start_keys || array_fill(''::text, array[cardinality(v_rates)]);
    start_counts := start_counts || array_fill(cardinality(rows), array[cardinality(v_rates)]);
  end if;
  if v_room.probe then
    -- Another one follows in the time of a probe, whatever becomes of this one.
    update holdfast.gates as g set breaker_probe_at = v_now + g.breaker_probe
    where g.type_id = any (v_gate.uses || p_type) and g.breaker_opened_at is not null and g.breaker_hold = 'auto';
    with probe as (
      update holdfast.queue as q set pass = 2 where q.ctid = any (rows) returning q.ctid
    )
    select array_agg(p.ctid) into rows from probe as p;
  end if;
end $$;
