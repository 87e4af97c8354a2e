-- name: jobById
-- One job with its status. No row: no such job is kept.
select id, type, status, lane, priority, attempt, max_attempts, payload, idempotency_key, concurrency_key,
       (select t.redact from holdfast.types as t where t.name = jobs.type) as redact,
       (select t.encrypted from holdfast.types as t where t.name = jobs.type) as encrypted,
       date_part('epoch', created_at) * 1000 as created_at, date_part('epoch', due_at) * 1000 as due_at,
       date_part('epoch', started_at) * 1000 as started_at, date_part('epoch', finished_at) * 1000 as finished_at, worker_id, error, owner, to_jsonb(tags) as tags, result,
       (select jsonb_build_object(
          'traceparent', b.traceparent, 'version', coalesce(b.version, 1), 'timeout', t.timeout_ms, 'sensitive', t.sensitive,
          'group', m.group_id, 'kind', m.kind, 'task', m.task, 'item', m.item, 'schedule', k.name, 'tick', date_part('epoch', k.tick) * 1000,
          'startBy', (select date_part('epoch', d.start_by) * 1000 from holdfast.start_deadlines as d where d.job_id = jobs.id),
          'fingerprint', holdfast.fingerprint_of(jobs.id))
        from (select $1::text::uuid as id) as asked
        left join holdfast.bodies as b on b.id = asked.id
        left join holdfast.types as t on t.name = jobs.type
        left join holdfast.members as m on m.job_id = asked.id
        left join lateral (select s.name, c.tick from holdfast.ticks as c join holdfast.schedules as s on s.id = c.schedule_id
                           where c.job_id = asked.id limit 1) as k on true) as origin
from holdfast.jobs where id = $1::text::uuid

-- name: attemptsOfJob
-- The attempts of one job, first to last.
select attempt, outcome, date_part('epoch', started_at) * 1000 as started_at, date_part('epoch', ended_at) * 1000 as ended_at,
       worker_id, worker, build, error
from holdfast.attempts where job_id = $1::text::uuid order by ended_at, attempt

-- name: jobsById
-- Many jobs with their status, in no order. One that is not kept is missing.
select id, type, status, lane, priority, attempt, max_attempts, payload, idempotency_key, concurrency_key,
       (select t.redact from holdfast.types as t where t.name = jobs.type) as redact,
       (select t.encrypted from holdfast.types as t where t.name = jobs.type) as encrypted,
       date_part('epoch', created_at) * 1000 as created_at, date_part('epoch', due_at) * 1000 as due_at,
       date_part('epoch', started_at) * 1000 as started_at, date_part('epoch', finished_at) * 1000 as finished_at, worker_id, error, owner, to_jsonb(tags) as tags
from holdfast.jobs where id = any ($1::uuid[])

-- name: attemptsOfJobs
-- The attempts of many jobs, first to last.
select job_id as job, attempt, outcome, date_part('epoch', started_at) * 1000 as started_at,
       date_part('epoch', ended_at) * 1000 as ended_at, worker_id, worker, build, error
from holdfast.attempts where job_id = any ($1::uuid[]) order by ended_at, attempt

-- name: jobsInQueue
-- At most $2 jobs that have not come to an end, of one type or of all, in the order they were enqueued. One JSON text each, because tests
-- ask it in transactions of their own, too, and clients differ in what they make of a column.
select row_to_json(j)::text as job from (
  select id, type, status, lane, priority, attempt, max_attempts, payload::text as payload, idempotency_key, concurrency_key,
         (select t.redact from holdfast.types as t where t.name = jobs.type) as redact,
         (select t.encrypted from holdfast.types as t where t.name = jobs.type) as encrypted,
         date_part('epoch', created_at) * 1000 as created_at, date_part('epoch', due_at) * 1000 as due_at,
         date_part('epoch', started_at) * 1000 as started_at, date_part('epoch', finished_at) * 1000 as finished_at, worker_id, error, owner, to_jsonb(tags) as tags
  from holdfast.jobs
  where status in ('awaiting_approval', 'scheduled', 'blocked', 'pending', 'processing', 'failed') and ($1::text is null or type = $1::text)
  order by jobs.created_at, id limit $2::text::integer
) as j

-- name: openWork
-- Whether any job of these types is running or could run now, and when the next one is due or held back no more (null: none is
-- but by people). What stands in the queue of a gate that has shut is moved before it by the next claim, so it counts as open.
-- So does the end of a member of a group that is not added up yet, because that makes the next jobs of its execution or batch; a group that was
-- set aside waits longer than a test does.
with asked as (select id, lane_id from holdfast.types where name = any ($1::text[])), gates as (
  select own.type_id as of, g.*, g.breaker_opened_at is not null and g.breaker_hold = 'auto' as broken,
         r.used >= g.rate_count as rated, r.first + holdfast.rate_window(g.rate_per) as rated_until
  from holdfast.gates as own join holdfast.gates as g on g.type_id = any (own.uses || own.type_id)
  left join lateral (
    select sum(s.count) as used, min(s.at) as first from holdfast.starts as s
    where s.type_id = g.type_id and s.at > holdfast.now() - holdfast.rate_window(g.rate_per)
  ) as r on g.rate_count is not null
  where own.type_id in (select id from asked)
), shut as (
  select g.of as type_id, case when not bool_or(g.paused_at is not null or g.breaker_hold = 'open') then
    max(greatest(case when g.stopped_until > holdfast.now() then g.stopped_until end,
                 case when g.broken then g.breaker_probe_at end, case when g.rated then g.rated_until end)) end as until
  from gates as g
  where g.paused_at is not null or g.breaker_hold = 'open' or g.stopped_until > holdfast.now()
     or (g.broken and g.breaker_probe_at > holdfast.now()) or g.rated
  group by g.of
), before as (
  select j.type_id, s.type_id is not null or coalesce(k.rests_until > holdfast.now() or r.used >= r.most, false) as held,
         greatest(s.until, case when k.rests_until > holdfast.now() then k.rests_until end, case when r.used >= r.most then r.until end) as until
  from (select distinct type_id, concurrency_key from holdfast.queue
        where type_id in (select id from asked) and pass > 0 and lease_id is null) as j
  left join shut as s on s.type_id = j.type_id
  left join holdfast.keys as k on k.type_id = j.type_id and k.concurrency_key = j.concurrency_key
  left join lateral (
    select min(g.key_rate_count) as most, sum(t.count) as used, min(t.at) + holdfast.rate_window(min(g.key_rate_per)) as until
    from holdfast.gates as g join holdfast.starts as t on t.type_id = g.type_id and t.concurrency_key = j.concurrency_key
    where g.type_id = j.type_id and t.at > holdfast.now() - holdfast.rate_window(g.key_rate_per)
  ) as r on j.concurrency_key <> ''
  where (s.type_id is null or s.until is not null) and k.paused_at is null
)
select exists (select from holdfast.queue as q join holdfast.lanes as l on l.id = q.lane_id
               where q.type_id in (select id from asked) and (q.lease_id is not null or (q.pass = 0 and l.enabled)))
         or exists (select from before as b join asked as t on t.id = b.type_id join holdfast.lanes as l on l.id = t.lane_id
                    where not b.held and l.enabled)
         or exists (select from holdfast.waiting where type_id in (select id from asked) and due_at <= holdfast.now())
         or exists (select from holdfast.group_changes as c where not exists (
              select from holdfast.set_aside as s where s.duty = 'groups' and s.of = c.group_id::text and s.again_at > holdfast.now())) as open,
       least((select min(due_at) from holdfast.waiting where type_id in (select id from asked) and due_at < 'infinity'),
             (select min(b.until) from before as b where b.held))::text as nextdue

-- name: countByStatus
-- How many jobs stand where, by type. Scans what is kept: for a person's look, not for a poll every second.
select type, status, count(*)::integer as count from holdfast.jobs group by type, status order by type, status

-- name: ping
-- The database answers.
select 1 as answer

-- name: countForStatus
-- How many jobs of each type stand where, for a page that asks every second. The price grows neither with the backlog nor
-- with history: at most $1 rows of each table are counted, and `cut` says where there may be more. Completed jobs are those
-- made within the last $2 milliseconds, because ids are in the order of their making and ends are in no order at all; of
-- them at most $3, because the type of each has to be looked up. A type with nothing to count is one row without a status.
with since as materialized (
  select holdfast.now() - $2::text::float8 * interval '1 millisecond' as at
), counted as (
  select p.place as source, l.type_id, l.status from unnest(holdfast.places()) as p (place)
  cross join lateral (select l.type_id, l.status from holdfast.live as l where l.place = p.place limit $1::text::integer) as l
  union all
  (select 'dead', d.type_id, 'dead' from holdfast.dead_letters as d limit $1::text::integer)
  union all
  select 'history', b.type_id, 'completed' from (
    select h.job_id from holdfast.history as h
    where h.ended_at >= (select at from since) and h.job_id >= holdfast.first_id_at((select at from since))
      and h.outcome = 'completed'
    order by h.job_id desc limit $3::text::integer
  ) as done
  -- Spelled as a look at one row, so that no plan reads all bodies to join them.
  cross join lateral (select b.type_id from holdfast.bodies as b where b.id = done.job_id limit 1) as b
)
select t.name as type, c.status, count(c.status)::integer as count,
       sum(count(c.status)) over (partition by c.source)
         >= case c.source when 'history' then $3::text::integer else $1::text::integer end as cut
from holdfast.types as t left join counted as c on c.type_id = t.id
group by t.name, c.source, c.status order by t.name, c.status

-- name: newestJobs
-- The $1 jobs made last, newest first, with their status and the error of their last failed attempt. Every look is by index.
select n.id::text as id, t.name as type, s.status, s.attempt, n.max_attempts, n.created_at,
       extract(epoch from holdfast.now() - n.created_at)::float8 * 1000 as age_ms,
       nullif(concat_ws(': ', left(f.error ->> 'name', 100), left(f.error ->> 'message', 500)), '') as error
from (
  select b.id, b.type_id, b.max_attempts, b.created_at from holdfast.bodies as b order by b.id desc limit $1::text::integer
) as n
join holdfast.types as t on t.id = n.type_id
cross join lateral (
  select l.status, l.attempt from holdfast.live as l where l.job_id = n.id
  union all
  select 'dead', d.attempt from holdfast.dead_letters as d where d.job_id = n.id
  union all
  select h.outcome::text, h.attempt from holdfast.history as h
  where h.job_id = n.id and h.outcome in ('completed', 'cancelled', 'discarded')
) as s
left join lateral (
  select h.error from holdfast.history as h where h.job_id = n.id and h.error is not null order by h.ended_at desc limit 1
) as f on true
order by n.id desc

-- name: explainFacts
-- Everything that decides when one job may run. Null: no such job is kept.
select holdfast.explain_facts($1::text::uuid) as facts

-- name: explainFactsOfMany
-- The same of many jobs.
select j.id::text as id, holdfast.explain_facts(j.id) as facts from unnest($1::uuid[]) as j (id)

-- name: listJobs
-- One page of jobs, newest first: their ids, and where the next page begins. Looks at no more than $9 of them and reads no more than $10 bytes.
select to_jsonb(ids) as jobs, next::text as next
from holdfast.list_jobs($1::text, $2::text, $3::text, $4::text::timestamptz, $5::text::timestamptz, $6::text::jsonb, $7::text::uuid,
                        $8::text::integer, $9::text::integer, $10::text::integer, $11::text[], $12::text, $13::text, $14::text, $15::text[],
                        $16::text, $17::text::uuid, $18::text::timestamptz, $19::text::timestamptz)

-- name: watchedJobs
-- Where many jobs stand, for those who watch them: status, progress, and the id of the last line of the log. And executions, by status alone.
select j.id, j.status, j.attempt, p.fraction, p.note, date_part('epoch', p.at) * 1000 as progressed,
       coalesce((select max(l.id) from holdfast.log_lines as l where l.job_id = j.id), 0)::text as line
from holdfast.jobs as j left join holdfast.progress as p on p.job_id = j.id
where j.id = any ($1::uuid[])
union all
select e.id, e.status, 0::smallint, null, null, null, '0' from holdfast.executions as e where e.id = any ($1::uuid[])

-- name: liveWorkers
-- The workers that have not stopped and were seen within the last day, with what they hold. Moments are milliseconds since 1970.
select w.id, w.name, w.host, w.pid, w.version, (select b.name from holdfast.builds as b where b.id = w.build_id) as build,
       exists (select from holdfast.drain_order(w)) as drained, date_part('epoch', w.started_at) * 1000 as started,
       date_part('epoch', w.seen_at) * 1000 as seen, extract(epoch from holdfast.now() - w.seen_at)::float8 * 1000 as silent,
       date_part('epoch', w.looked_at) * 1000 as looked, holdfast.is_stalled(w) as stalled, w.token_hash is not null as remote,
       w.lag_ms, w.memory_bytes::float8 as memory_bytes, w.open_connections as connections,
       (select coalesce(jsonb_agg(t.name order by t.name), '[]') from holdfast.types as t where t.id = any (w.types)) as types,
       (select coalesce(sum(cardinality(l.jobs)), 0) from holdfast.leases as l where l.worker_id = w.id)::integer as leased
from holdfast.workers as w
where w.stopped_at is null and w.seen_at > holdfast.now() - interval '1 day' order by w.id

-- name: readDepths
-- How much waits and runs, by type, as it was counted last.
select t.name as type, l.name as lane, coalesce(sum(d.waiting), 0)::float8 as waiting, coalesce(sum(d.scheduled), 0)::float8 as scheduled,
       coalesce(sum(d.blocked), 0)::float8 as blocked, coalesce(max(e.running), 0)::float8 as running,
       extract(epoch from holdfast.now() - min(d.oldest_at))::float8 * 1000 as oldest
from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id
left join holdfast.depths as d on d.type_id = t.id left join holdfast.enqueued as e on e.type_id = t.id and e.running > 0
where d.type_id is not null or e.type_id is not null
group by t.name, l.name order by t.name

-- name: laneLoads
-- How busy each lane is, from what is counted anyway: depths, attempt_counts and leases. Types that are paused, stopped or broken, or use what is, do not
-- count as waiting, because more workers would not help them. A step of attempt_counts lasts ten seconds: of the last minute six.
select l.name as lane, l.enabled, l.slots, coalesce(w.waiting, 0)::float8 as waiting, coalesce(r.running, 0)::float8 as running,
       coalesce(e.ended, 0)::float8 / 60 as ended, coalesce(v.live, 0)::float8 as live
from holdfast.lanes as l
left join lateral (
  select sum(d.waiting) as waiting from holdfast.depths as d join holdfast.types as t on t.id = d.type_id
  where t.lane_id = l.id and not exists (
    select from holdfast.gates as g where g.type_id = any (holdfast.and_used(array[t.id]))
      and (g.paused_at is not null or g.stopped_until > holdfast.now() or g.breaker_hold = 'open'
           or (g.breaker_hold = 'auto' and g.breaker_opened_at is not null)))
) as w on true
left join (
  select q.lane_id, count(*) as running from holdfast.leases as e cross join unnest(e.jobs) as j (job_id)
  join holdfast.queue as q on q.job_id = j.job_id and q.lease_id = e.id group by q.lane_id
) as r on r.lane_id = l.id
left join lateral (
  select sum(s.good + s.bad) as ended from holdfast.attempt_counts as s join holdfast.types as t on t.id = s.type_id
  where t.lane_id = l.id and s.at > holdfast.attempt_count_step(holdfast.now()) - interval '60 seconds'
) as e on true
left join lateral (
  select count(*) as live from holdfast.workers as w
  where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes'
    and exists (select from holdfast.types as t where t.id = any (w.types) and t.lane_id = l.id)
) as v on true
order by l.id

-- name: newestMigration
-- The number of the last migration that ran here.
select coalesce(max(number), 0) as newest from holdfast.migrations
