-- name: registerRemoteWorker
-- A new identity for a worker behind HTTP, never given out before, with the hash of its secret. $8: the version of payloads it knows of each
-- of its types; null: any.
insert into holdfast.workers (name, host, pid, version, types, token_hash, build_id, versions)
values ($1::text, $2::text, $3::text::integer, $4::text, $5::integer[], decode($6::text, 'hex'), holdfast.build_named($7::text), $8::smallint[])
returning id

-- name: defineRemoteUses
-- Says what types use, where the definitions of a remote worker changed it.
select holdfast.define_uses($1::text[], $2::jsonb[], holdfast.actor($3::text, null, $4::text))::text as done

-- name: registerRemoteTypes
-- Makes types known, or changes of them what is named and may be changed, with a line in the audit log.
select holdfast.register_remote_types($1::jsonb, $2::text::boolean, holdfast.actor($3::text, null, $4::text))::text as done

-- name: knowRemoteVersions
-- Notes versions of payloads that a remote worker knows and no worker knew before, if it may; with a line in the audit log.
select holdfast.know_versions($1::text[], $2::smallint[], $3::text::boolean, holdfast.actor($4::text, null, $5::text))::text as done

-- name: remoteWorker
-- A remote worker that is signed on, with its types, and, where the hash is its own, that it was heard of and what it said of its process ($3 to $5).
-- No row: there is none of that id.
with seen as (
  update holdfast.workers as w
  set seen_at = holdfast.now(), lag_ms = coalesce($3::text::integer, w.lag_ms), memory_bytes = coalesce($4::text::bigint, w.memory_bytes),
      open_connections = coalesce($5::text::integer, w.open_connections)
  where w.id = $1::text::integer and w.token_hash = decode($2, 'hex') and w.seen_at < holdfast.now() - interval '5 seconds'
)
select encode(w.token_hash, 'hex') as hash, exists (select from holdfast.drain_order(w)) as drain, (select o.why from holdfast.drain_order(w) as o) as why,
       (select b.name from holdfast.builds as b where b.id = w.build_id) as build,
       (select coalesce(jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name, 'timeoutMs', t.timeout_ms, 'encrypted', t.encrypted,
                                                     'version', k.version)), '[]')
        from unnest(w.types, w.versions) as k (type_id, version) join holdfast.types as t on t.id = k.type_id) as types
from holdfast.workers as w where w.id = $1::text::integer and w.token_hash is not null and w.stopped_at is null

-- name: typesHeld
-- The types of the jobs that run under leases of a worker: under those of $2, of the jobs of $3; null: all.
select distinct t.name from holdfast.leases as l
join holdfast.queue as q on q.job_id = any (l.jobs) and q.lease_id = l.id join holdfast.types as t on t.id = q.type_id
where l.worker_id = $1::text::integer and ($2::bigint[] is null or l.id = any ($2::bigint[]))
  and ($3::uuid[] is null or q.job_id = any ($3::uuid[]))

-- name: runningInLane
-- How many jobs of one lane run under a worker's leases.
select count(*)::integer as running from holdfast.leases as l
join holdfast.queue as q on q.job_id = any (l.jobs) and q.lease_id = l.id
where l.worker_id = $1::text::integer and q.lane_id = $2::text::smallint

-- name: attemptsUnderLease
-- Of these attempts, those that still hold a lease of this worker, with what decides about their end. The payload only where something
-- of it is to be kept out of what is stored: where its type says so, or with $4.
select q.job_id::text as id, q.lease_id as lease, q.attempt, coalesce(b.max_attempts, q.attempt) as max, t.backoff,
       t.name as type, t.encrypted, t.redact, t.max_result_bytes as bytes, case when $4::text::boolean or t.redact is not null then b.payload end as payload,
       extract(epoch from holdfast.now() - l.claimed_at)::float8 * 1000 as age
from unnest($2::uuid[], $3::bigint[]) as asked (job_id, lease_id)
join holdfast.queue as q on q.job_id = asked.job_id and q.lease_id = asked.lease_id
join holdfast.leases as l on l.id = q.lease_id and l.worker_id = $1::text::integer
join holdfast.types as t on t.id = q.type_id
left join holdfast.bodies as b on b.id = q.job_id

-- name: leasesOfWorker
-- Of these leases, those that are this worker's.
select l.id as lease from holdfast.leases as l where l.id = any ($2::bigint[]) and l.worker_id = $1::text::integer

-- name: howTheyStand
-- Why attempts of this worker hold no lease any more, and what stands instead.
select asked.id::text as id, stands.why, stands.outcome, stands.attempt, date_part('epoch', stands.ended_at) * 1000 as ended
from unnest($2::uuid[], $3::bigint[], $4::holdfast.outcome[]) as asked (id, lease, outcome)
cross join lateral holdfast.how_it_stands(asked.id, asked.lease, $1::text::integer, asked.outcome) as stands

-- name: typesOfJobs
-- The types of jobs that are kept.
select b.id::text as id, t.name as type from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where b.id = any ($1::uuid[])

-- name: closeEmptyLeases
-- Removes leases of a worker under which nothing runs any more.
select holdfast.close_empty_leases($1::text::integer, $2::bigint[])::text as done

-- name: checkpointsOfJobs
-- Where the next attempts of these jobs are to go on. No row for one: at the beginning.
select job_id::text as id, value from holdfast.checkpoints where job_id = any ($1::uuid[])

-- name: linesOfAttempts
-- How many lines of the log these attempts have; no more than $3 are counted.
select asked.id::text as id, (
  select count(*) from (
    select from holdfast.log_lines as l where l.job_id = asked.id and l.attempt = asked.attempt limit $3::text::integer
  ) as kept)::integer as lines
from unnest($1::uuid[], $2::smallint[]) as asked (id, attempt)
