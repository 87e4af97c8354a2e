-- name: renewLeases
-- One heartbeat: renews every lease this worker holds and shows that it lives. A lease missing from the answer is lost.
-- Waits for nobody: a lease that is being settled or rescued at this moment stays as it is until the next heartbeat.
-- $4: how many milliseconds ago it last asked for jobs and was answered; null: it does not say.
-- $5 to $7: how late its event loop was, its memory, and its open connections; null: it does not say now.
-- Where no time is given for a lease, it is renewed for as long as it was claimed for.
-- A row without a lease says that this worker is to claim no more, and who said so and why.
-- With each lease come the jobs under it that were cancelled and whose end has not been reported yet.
with seen as (
  update holdfast.workers
  set seen_at = holdfast.now(), looked_at = coalesce(holdfast.now() - $4::text::float8 * interval '1 millisecond', looked_at),
      lag_ms = coalesce($5::text::integer, lag_ms), memory_bytes = coalesce($6::text::bigint, memory_bytes),
      open_connections = coalesce($7::text::integer, open_connections)
  where id = $1::text::integer returning workers.*
), free as materialized (
  select l.id, coalesce(h.ms, l.lasts_ms) as ms from unnest($2::bigint[], $3::integer[]) as h (id, ms)
  join holdfast.leases as l on l.id = h.id and l.worker_id = $1::text::integer
  for no key update of l skip locked
), renewed as (
  update holdfast.leases as l set expires_at = greatest(l.expires_at, holdfast.now() + f.ms * interval '1 millisecond')
  from free as f where l.id = f.id
)
select l.id::text as lease, to_jsonb(holdfast.cancelled_under(l.id)) as cancelled
from holdfast.leases as l where l.id = any ($2::bigint[]) and l.worker_id = $1::text::integer
union all
select null, jsonb_build_array(o.by, o.why) from seen as s cross join lateral holdfast.drain_order(s::holdfast.workers) as o

-- name: renewRemoteLeases
-- The same for leases of a remote worker, but none is renewed once its jobs have had longer than they may take: a heartbeat says that the process lives, not
-- that its handler ends. A lease that is not renewed any more runs out, and its jobs are rescued. $4 to $6 are $5 to $7 above.
with seen as (
  update holdfast.workers
  set seen_at = holdfast.now(), lag_ms = coalesce($4::text::integer, lag_ms), memory_bytes = coalesce($5::text::bigint, memory_bytes),
      open_connections = coalesce($6::text::integer, open_connections)
  where id = $1::text::integer
), free as materialized (
  select l.id, coalesce($3::text::integer, l.lasts_ms) as ms
  from holdfast.leases as l where l.id = any ($2::bigint[]) and l.worker_id = $1::text::integer and holdfast.now() < holdfast.remote_lease_ends(l)
  for no key update of l skip locked
), renewed as (
  update holdfast.leases as l set expires_at = greatest(l.expires_at, holdfast.now() + f.ms * interval '1 millisecond')
  from free as f where l.id = f.id
)
select l.id::text as lease, to_jsonb(holdfast.cancelled_under(l.id)) as cancelled
from holdfast.leases as l where l.id = any ($2::bigint[]) and l.worker_id = $1::text::integer

-- name: extendLease
-- Holds one lease for at least that long from now, whatever the heartbeat does. No row: the lease is lost.
update holdfast.leases set expires_at = greatest(expires_at, holdfast.now() + $3::text::float8 * interval '1 millisecond')
where id = $1::text::bigint and worker_id = $2::text::integer
returning id::text as lease

-- name: rescueLeases
-- Ends the attempts of at most $1 leases that nobody renewed, stopping once it has $2 jobs, and frees or buries those.
select job_id::text as id, type, attempt, worker_id as worker, dead
from holdfast.rescue_leases($1::text::integer, $2::text::integer, $3::text::integer)

-- name: anyLeaseExpired
-- Whether there is anything to rescue. Reads one index entry and writes nothing, so that asking often is cheap.
select holdfast.any_lease_expired() as expired

-- name: releaseUnacknowledged
-- Frees the jobs of leases this worker was given and never heard of. $2: those it did hear of.
select holdfast.release_unacknowledged($1::text::integer, $2::bigint[]) as jobs
