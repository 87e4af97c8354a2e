-- name: renewLeases
-- One heartbeat: renews every lease this worker holds and shows that it lives. A lease missing from the answer is lost.
with seen as (
  update holdfast.workers set seen_at = holdfast.now() where id = $1::text::integer
)
update holdfast.leases as l
set expires_at = greatest(l.expires_at, holdfast.now() + h.ms * interval '1 millisecond')
from unnest($2::bigint[], $3::integer[]) as h (id, ms)
where l.id = h.id and l.worker_id = $1::text::integer
returning l.id::text as lease

-- name: extendLease
-- Holds one lease for at least that long from now, whatever the heartbeat does. No row: the lease is lost.
update holdfast.leases set expires_at = greatest(expires_at, holdfast.now() + $3::text::float8 * interval '1 millisecond')
where id = $1::text::bigint and worker_id = $2::text::integer
returning id::text as lease

-- name: rescueLeases
-- Ends the attempts of at most $1 leases that nobody renewed, and frees or buries their jobs.
select job_id::text as id, type, attempt, worker_id as worker, dead from holdfast.rescue_leases($1::text::integer, $2::text::integer)

-- name: anyLeaseExpired
-- Whether there is anything to rescue. Reads one index entry and writes nothing, so that asking often is cheap.
select exists (select from holdfast.leases where expires_at < holdfast.now()) as expired
