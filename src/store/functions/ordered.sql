-- Ordered keys: the jobs of a key run one after the other, in the order of their enqueue. A job holds its key from its enqueue to its end,
-- whatever it waits for meanwhile. Nothing is counted or handed on: a claim takes the first job of a key that lives, or none of that key.
-- In the queue seq is the position in the key; elsewhere key_position has it. Which jobs stand before one is asked in places.sql.

-- Held shared, until its transaction ends, by whoever stores or revives a job of the type that has a key, and alone by whoever changes whether the
-- type is ordered: nobody puts a job in order that is not committed yet, and who wrote it knew nothing of the order.
create or replace function holdfast.order_lock(p_type text) returns bigint language sql immutable parallel safe
as $$ select hashtextextended('holdfast.order ' || p_type, 0) $$;

-- Holds the order of these types as it is.
create or replace function holdfast.hold_order(p_types text[]) returns void language plpgsql as $$
declare
  v_type text;
begin
  for v_type in select distinct t from unnest(p_types) as t order by t loop
    perform pg_advisory_xact_lock_shared(holdfast.order_lock(v_type));
  end loop;
end $$;

-- The position of a new job in its key; null where keys are not ordered. A sequence and no time: a clock may be set back.
create or replace function holdfast.next_position(p_type integer, p_key text) returns bigint language sql volatile
as $$
  select nextval('holdfast.queue_seq') where p_key is not null and exists (select from holdfast.gates as g where g.type_id = p_type and g.ordered)
$$;

-- The position by which jobs of a key are compared. Those enqueued before their type was ordered come first, by age. A job that was
-- tried before comes before all others: one whose transaction was committed late must not pass it between two attempts.
create or replace function holdfast.position_in_key(p_position bigint, p_created timestamptz, p_attempt integer) returns bigint
language sql stable parallel safe
as $$
  select coalesce(p_position, (extract(epoch from p_created) * 1000000)::bigint - (1::bigint << 60))
    - case when p_attempt > 1 then 1::bigint << 62 else 0 end
$$;

-- The position of a job before its gate, whose key is null where it has none.
create or replace function holdfast.gate_seq(
  p_ordered boolean, p_key text, p_position bigint, p_created timestamptz, p_attempt integer,
  p_ready timestamptz, p_priority integer, p_ageing interval
) returns bigint language sql stable parallel safe
as $$
  select case when p_ordered and p_key is not null then holdfast.position_in_key(p_position, p_created, p_attempt)
              else holdfast.gate_position(p_ready, p_priority, p_ageing) end
$$;

-- What a job that stands outside of the queue is written with; null where its type is not ordered or it has no key.
create or replace function holdfast.key_position_of(p_job uuid, p_attempt integer) returns holdfast.key_position
language sql stable
set enable_seqscan = off set jit = off
as $$
  select (b.concurrency_key, holdfast.position_in_key(b.position, b.created_at, p_attempt))::holdfast.key_position
  from holdfast.bodies as b join holdfast.gates as g on g.type_id = b.type_id
  where b.id = p_job and g.ordered and b.concurrency_key is not null
$$;

-- The same for a job that follows another one: it holds its key only where it was enqueued after that one. Who was revived and stands behind
-- a later one of its unique key does not, or the two could wait for each other.
create or replace function holdfast.follower_position(p_job uuid, p_follows uuid) returns holdfast.key_position
language sql stable
set enable_seqscan = off set jit = off
as $$
  select k.own from (select holdfast.key_position_of(p_job, 1) as own) as k join holdfast.bodies as b on b.id = p_follows
  where holdfast.position_in_key(b.position, b.created_at, 1) < (k.own).position
$$;

-- Halts the keys of those of these jobs that died, where their type asks for it. Runs under the locks of their gates, so that no claim
-- looks at a key between the death of its first job and the halt. A key that halts already names the job that died first.
create or replace function holdfast.halt_keys(p_jobs uuid[]) returns void
language sql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  insert into holdfast.keys as k (type_id, concurrency_key, halted_at, halted_by)
  select distinct on (b.type_id, b.concurrency_key) b.type_id, b.concurrency_key, holdfast.now(), b.id
  from holdfast.bodies as b join holdfast.gates as g on g.type_id = b.type_id
  where b.id = any (p_jobs) and g.ordered and g.halt_on_dead and b.concurrency_key is not null
    and exists (select from holdfast.dead_letters as d where d.job_id = b.id)
  order by b.type_id, b.concurrency_key, b.position, b.id
  on conflict (type_id, concurrency_key) do update set halted_at = excluded.halted_at, halted_by = excluded.halted_by
  where k.halted_at is null
$$;

-- Lets keys go on that these jobs had halted: they were replayed, and hold their keys themselves now, or discarded.
create or replace function holdfast.release_keys(p_jobs uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_types integer[];
begin
  with released as (
    update holdfast.keys as k set halted_at = null, halted_by = null where k.halted_by = any (p_jobs) returning k.type_id
  )
  select array_agg(distinct r.type_id) into v_types from released as r;
  if v_types is not null then
    perform holdfast.wake_lanes(array(select distinct t.lane_id from holdfast.types as t where t.id = any (v_types)), true);
  end if;
end $$;
