-- name: claimJobs
-- At most $4 free jobs of one lane under one new lease, never one that another worker is claiming; of a key with a limit $7 for each
-- that may run at once.
-- After $8 milliseconds it is undone: its worker waits no longer.
-- No row: none is free. Otherwise one row for all, as claim_jobs describes it.
select lease, ids, seqs, types, priorities, attempts, maxes, created, payloads, traces, to_jsonb(gated) as gated,
       to_jsonb(rated) as rated, key_limits,
       to_jsonb(keys) as keys, scheduled, versions, to_jsonb(waits) as waits, waited
from holdfast.claim_jobs($1::text::integer, $2::text::smallint, $3::integer[], $4::text::integer, $5::text::integer, $6::bigint[],
                         $7::text::integer, $8::text::integer)
where lease is not null

-- name: tick
-- Does what is due. Answers with how many jobs it moved, how far it read, when the next is due, what each duty says; and, for
-- the price of no statement more, with the lanes that the types of this worker run in now, so that a change takes effect
-- within one look.
-- With $4, for an idle worker that has nothing else to ask, also whether any job of its types is free and whether a lease
-- has run out; null otherwise. A worker that is awake asks too often for that: under a long transaction both read what is dead.
select p.promoted, p.read_to::text as "readTo", p.next_in_ms as "nextInMs", p.duties, p.gate_open as "gateOpen",
       holdfast.lanes_of($3::integer[]) as lanes,
       case when $4::text::boolean then holdfast.any_free($3::integer[]) end as free,
       case when $4::text::boolean then holdfast.any_lease_expired() end as expired
from holdfast.tick($1::text::integer, $2::text::timestamptz, $5::text::integer, $3::integer[]) as p

-- name: lanesOfTypes
-- The lanes alone, for a worker whose tick fails: what is free it can claim all the same.
select holdfast.lanes_of($1::integer[]) as lanes

-- name: subscribeIdle
-- Subscribes an idle worker: producers notify it in these lanes. Answers whether it was not subscribed before, and how many others
-- are idle in the lane where the fewest are, counted up to ten. Writes nothing where it was subscribed.
with said as (
  insert into holdfast.idle_workers (lane_id, worker_id) select lane_id, $2::text::integer from unnest($1::smallint[]) as l (lane_id)
  on conflict do nothing
  returning lane_id
)
select exists (select from said) as news, coalesce(min(beside.idle), 0)::integer as others
from unnest($1::smallint[]) as l (lane_id), lateral (
  select count(*) as idle
  from (select from holdfast.idle_workers as s where s.lane_id = l.lane_id and s.worker_id <> $2::text::integer limit 10) as counted
) as beside

-- name: unsubscribeIdle
-- Unsubscribes a worker: producers need not notify it. It may have been notified alone of a job that it cannot take any more, so others are.
with gone as (
  delete from holdfast.idle_workers where worker_id = $1::text::integer returning lane_id
)
select holdfast.notify_idle(array_agg(g.lane_id), null, $1::text::integer) from gone as g
where exists (select from holdfast.workers as w where w.id = $1::text::integer and w.own_channel)

-- name: forgetIdleWorkers
-- Idle workers that have not been seen for minutes are dead: every enqueue would go on notifying them. Writes nothing where none is.
-- One that was only frozen says again that it is idle.
delete from holdfast.idle_workers as s
where not exists (select from holdfast.workers as w where w.id = s.worker_id and w.seen_at > holdfast.now() - interval '3 minutes')
