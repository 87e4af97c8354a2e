-- name: claimJobs
-- At most $4 free jobs of one lane under one new lease, $7 of them through a gate; never one that another worker is claiming.
-- No row: none is free. Otherwise one row for all, as claim_jobs describes it.
select lease, ids, seqs, types, priorities, attempts, maxes, created, payloads, to_jsonb(gated) as gated, traces
from holdfast.claim_jobs($1::text::integer, $2::text::smallint, $3::integer[], $4::text::integer, $5::text::integer, $6::bigint[],
                         $7::text::integer)
where lease is not null

-- name: promoteDue
-- Moves jobs whose time has come into the queue. Answers with how many, how far it read, and when the next is due; and, for
-- the price of no statement more, with the lanes that the types of this worker run in now, so that a change takes effect
-- within one look. The lanes they left are among them: jobs of theirs may still turn up there.
-- With $4, for a worker that sleeps and has nothing else to ask, also whether any job of its types is free and whether a lease
-- has run out; null otherwise. A worker that is awake asks too often for that: under a long transaction both read what is dead.
select p.promoted, p.read_to::text as "readTo", p.next_in_ms as "nextInMs", (
         select coalesce(jsonb_agg(lane order by lane.id), '[]') from (
           select l.id, l.name, l.poll_ms as poll, l.lease_ms as lease, l.worker_slots as slots, l.enabled, array_agg(t.id) as types
           from holdfast.lanes as l join holdfast.types as t on l.id = any (t.left_lanes || t.lane_id)
           where t.id = any ($3::integer[]) group by l.id
         ) as lane) as lanes,
       case when $4::text::boolean then holdfast.any_free($3::integer[]) end as free,
       case when $4::text::boolean then holdfast.any_lease_expired() end as expired
from holdfast.promote_due($1::text::integer, $2::text::timestamptz) as p

-- name: fallAsleep
-- Asks producers to wake this worker in these lanes. Answers whether that is news, and how many others sleep in the lane where the
-- fewest do, counted up to ten. Writes nothing where it is no news.
with said as (
  insert into holdfast.sleepers (lane_id, worker_id) select lane_id, $2::text::integer from unnest($1::smallint[]) as l (lane_id)
  on conflict do nothing
  returning lane_id
)
select exists (select from said) as news, coalesce(min(beside.sleepers), 0)::integer as others
from unnest($1::smallint[]) as l (lane_id), lateral (
  select count(*) as sleepers
  from (select from holdfast.sleepers as s where s.lane_id = l.lane_id and s.worker_id <> $2::text::integer limit 10) as counted
) as beside

-- name: stayAwake
-- Tells producers that this worker needs no waking.
delete from holdfast.sleepers where worker_id = $1::text::integer

-- name: forgetSleepers
-- Sleepers that have not been seen for minutes are dead: every enqueue would go on calling them. Writes nothing where none is.
-- One that was only frozen says again that it sleeps.
delete from holdfast.sleepers as s
where not exists (select from holdfast.workers as w where w.id = s.worker_id and w.seen_at > holdfast.now() - interval '3 minutes')
