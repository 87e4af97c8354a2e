-- Small functions about lanes and leases that tables and several others use.

-- The lanes a type has left when it goes from one to another.
create or replace function holdfast.lanes_left(p_left smallint[], p_from smallint, p_to smallint) returns smallint[]
language sql immutable parallel safe
as $$ select array_remove(array_remove(p_left, p_from) || p_from, p_to) $$;

-- What tells the leases of one job apart: four bytes, which fit into what the row leaves empty before the next one begins.
-- Two leases with the same mark lie two billion claims apart.
create or replace function holdfast.lease_mark(p_lease bigint) returns integer language sql immutable
as $$ select (p_lease % 2147483647)::integer $$;

-- Whether this transaction may see types and lanes as they were long ago: it keeps one snapshot, and has for seconds. bring_strays
-- forgets a lane that a type has left once no younger transaction can still put a job there.
create or replace function holdfast.may_be_behind() returns boolean language sql volatile
as $$ select current_setting('transaction_isolation') <> 'read committed' and clock_timestamp() - transaction_timestamp() > interval '5 seconds' $$;

-- The jobs that take a slot, each with its lane, its worker and since when: those that run, and cancelled ones whose handler may still be at work.
-- As many lookups as jobs run, however many wait.
create or replace function holdfast.taken_slots() returns table (
  lane_id smallint, job_id uuid, type_id integer, attempt smallint, worker_id integer, claimed_at timestamptz, expires_at timestamptz, stopping boolean
) language sql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  select q.lane_id, q.job_id, q.type_id, q.attempt, e.worker_id, e.claimed_at, e.expires_at, false
  from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
  join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id
  union all
  select coalesce(s.lane_id, t.lane_id), c.job_id, c.type_id, h.attempt, e.worker_id, e.claimed_at, e.expires_at, true
  from holdfast.cancellations as c join holdfast.leases as e on e.id = c.lease_id join holdfast.types as t on t.id = c.type_id
  left join holdfast.lane_slots as s on s.job_id = c.job_id
  left join lateral (select h.attempt from holdfast.history as h where h.job_id = c.job_id order by h.ended_at desc limit 1) as h on true
$$;

-- Those of one lane, the oldest first, at most p_limit of them. An unknown lane is refused.
create or replace function holdfast.slots_of_lane(p_lane text, p_limit integer) returns table (
  lane_id smallint, job_id uuid, type_id integer, attempt smallint, worker_id integer, claimed_at timestamptz, expires_at timestamptz, stopping boolean
) language plpgsql stable as $$
declare
  v_lane constant smallint := holdfast.lane_named(p_lane);
begin
  return query select * from holdfast.taken_slots() as s where s.lane_id = v_lane order by s.claimed_at, s.job_id limit p_limit;
end $$;
