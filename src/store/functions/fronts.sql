-- Fronts: up to where the claims of a whole fleet have read the queue. Those of the lanes come first here, those of gates after them.
--
-- Each worker remembers how far its own claims have read. Jobs that other workers have claimed since then stand between that position and the
-- first free job, so each of four workers would read over the jobs of the other three. Therefore a claim writes down where it stopped as soon
-- as it has locked its jobs, and the next claim of any worker begins there. It writes the position into a sequence, because all sessions see
-- that at once, before the claim is committed, and nobody waits for a lock.
-- A front is only a hint. The jobs of a claim that was rolled back, a job that was handed back and one that was committed late stand behind it.
-- Claims from the head find these: they ignore the front, and every worker spends a twentieth of its time on them. A claim from the head that
-- finds jobs also moves the front back to where it stopped, because more of them may stand there.
-- Eight sequences, so that lanes and groups of types seldom overwrite one another. A value says whose front it is: 19 bits of a hash
-- of lane and types, 4 of the priority, 40 of the position.

-- Names the front of those who claim these types from a lane: 3 bits for the sequence, 19 for the value.
create or replace function holdfast.front_of(p_lane smallint, p_types integer[]) returns bigint language sql immutable parallel safe
as $$ select hash_array_extended(p_lane::integer || p_types, 0) & 4194303 $$;

-- The positions from which a claim reads on: those that its worker remembers, but in the priority that the front belongs to, the front. Where the
-- worker reads from the head, or has not read yet, the front does not count.
create or replace function holdfast.from_front(p_after bigint[], p_front bigint) returns bigint[] language plpgsql as $$
declare
  v_said bigint := pg_sequence_last_value(('holdfast.front_' || (p_front & 7))::regclass);
  v_priority integer := (v_said >> 40) & 15;
begin
  if v_said >> 44 = p_front >> 3 and p_after[v_priority + 1] > 0 then
    p_after[v_priority + 1] := v_said & 1099511627775;
  end if;
  return p_after;
end $$;

-- Records that a claim which read from p_from on has stopped at p_to. Small steps are not recorded, because each costs a record in the WAL: a
-- worker that claims one job at a time records every 64th.
create or replace function holdfast.move_front(p_front bigint, p_priority integer, p_from bigint, p_to bigint) returns void language plpgsql as $$
declare
  v_sequence regclass := 'holdfast.front_' || (p_front & 7);
  v_said bigint := pg_sequence_last_value(v_sequence);
  v_mark bigint := (p_front >> 3) << 4 | p_priority;
  v_step bigint := p_to - (v_said & 1099511627775);
  v_worth boolean := p_from >> 6 < p_to >> 6;
begin
  if v_said >> 40 = v_mark then
    v_worth := v_step > 64 or (p_from = 0 and v_step < 0);
  end if;
  if v_worth and p_to < 1::bigint << 40 then
    perform setval(v_sequence, v_mark << 40 | p_to);
  end if;
end $$;

-- The front of a gate is in the row of the gate, because claims through a gate come one after the other. It says where the last large claim stopped. The
-- next claim begins there, because from the head it would read over every job that runs. Jobs that are stored before the front, such as those of a
-- higher priority, wait until a claim looks for them: 200 ms at most, and not at all where fewer jobs stand after the front than the claim may take.

-- Takes the first jobs before a gate whose keys are not told apart.
-- Runs under the plan settings of take_through_gate.
create or replace function holdfast.take_in_order(
  p_gate holdfast.gates, p_limit integer, p_now timestamptz, out rows tid[], out jobs uuid[]
)
language plpgsql as $$
declare
  v_fresh boolean := holdfast.is_fresh(p_gate, p_now);
  v_last bigint;
begin
  if v_fresh then
    select array_agg(f.ctid), array_agg(f.job_id), max(f.seq) into rows, jobs, v_last
    from (
      select q.ctid, q.job_id, q.seq from holdfast.queue as q
      where q.type_id::bigint = p_gate.type_id and q.pass > 0 and q.lease_id is null
        and (q.seq, q.job_id) >= (p_gate.front_seq, p_gate.front_job)
      order by q.seq, q.job_id limit p_limit
      for update skip locked
    ) as f;
    v_fresh := cardinality(rows) = p_limit;
  end if;
  if v_fresh is not true then
    select array_agg(f.ctid), array_agg(f.job_id), max(f.seq) into rows, jobs, v_last
    from (
      select q.ctid, q.job_id, q.seq from holdfast.queue as q
      where q.type_id::bigint = p_gate.type_id and q.pass > 0 and q.lease_id is null
      order by q.seq, q.job_id limit p_limit
      for update skip locked
    ) as f;
  end if;
  if cardinality(rows) >= 64 then
    update holdfast.gates as g
    set front_seq = v_last, front_job = jobs[cardinality(jobs)], front_at = case when v_fresh then g.front_at else p_now end
    where g.type_id = p_gate.type_id;
  end if;
end $$;

-- Whether the front of a gate counts.
create or replace function holdfast.is_fresh(p_gate holdfast.gates, p_now timestamptz) returns boolean language sql stable parallel safe
as $$ select coalesce(p_gate.front_at <= p_now and p_gate.front_at > p_now - interval '200 milliseconds', false) $$;

-- Where keys take turns, a claim leaves jobs of all ages unclaimed, so the front is the first job that is free.
create or replace function holdfast.note_front(p_gate holdfast.gates, p_now timestamptz) returns void language sql volatile as $$
  update holdfast.gates as g
  set front_seq = f.seq, front_job = f.job_id, front_at = case when holdfast.is_fresh(p_gate, p_now) then g.front_at else p_now end
  from holdfast.first_free(p_gate.type_id) as f where g.type_id = p_gate.type_id
$$;

-- The first job that waits before the gate of a type, as its front tells; null where none does.
create or replace function holdfast.first_free(p_type integer, out seq bigint, out job_id uuid)
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off set plan_cache_mode = force_generic_plan
as $$
declare
  v_gate holdfast.gates;
begin
  select * into v_gate from holdfast.gates as g where g.type_id = p_type;
  if holdfast.is_fresh(v_gate, holdfast.now()) then
    select q.seq, q.job_id into seq, job_id from holdfast.queue as q
    where q.type_id::bigint = p_type and q.pass > 0 and q.lease_id is null and (q.seq, q.job_id) >= (v_gate.front_seq, v_gate.front_job)
    order by q.seq, q.job_id limit 1;
  end if;
  if seq is null then
    select q.seq, q.job_id into seq, job_id from holdfast.queue as q
    where q.type_id::bigint = p_type and q.pass > 0 and q.lease_id is null
    order by q.seq, q.job_id limit 1;
  end if;
end $$;
