-- The feed of events: what happened to jobs, for readers who keep a cursor.
--
-- The promise: whoever reads page after page, each from where the last one ended, is given every event that was committed since the feed was
-- opened, at least once and in one order, or is told that the partition with some of them was dropped before they came. The events of one job
-- come in the order in which they happened.
--
-- The order is that of a sequence, and an event may have a smaller number and be committed later than another. So whoever writes events first locks, in
-- share mode and until the end of the transaction, the last number that was given out: all of its own are larger. A reader takes the last number, then
-- looks which of these locks are held, then reads up to the smallest of them all. Whoever had its lock by then is waited for, and
-- whoever had not gets larger numbers: nothing can come in behind the reader. A lock is released after its transaction is visible, and pages
-- are read after the look. The price: a transaction that has ended a job and stays open holds the events after it back until it ends.
-- Other transactions hold back nothing, and nobody ever waits for these locks.

-- The last number that was given out to an event.
create or replace function holdfast.last_event() returns bigint language sql volatile
as $$ select coalesce(pg_sequence_last_value('holdfast.event_seq'), 0) $$;

-- The number up to which no event can come any more. A lock has the last 31 bits of its number; one that was taken after the first line is
-- taken for a very old one, and the reader comes again.
create or replace function holdfast.events_until() returns bigint language plpgsql volatile as $$
declare
  v_last constant bigint := holdfast.last_event();
begin
  return least(v_last, (
    select min(v_last - (((v_last - l.objid::bigint) % 2147483648) + 2147483648) % 2147483648) from pg_locks as l
    where l.locktype = 'advisory' and l.objsubid = 2 and l.classid::bigint = hashtext('holdfast.events')::bigint & 4294967295
      and l.database = (select d.oid from pg_database as d where d.datname = current_database())));
end $$;

-- Called by whoever reads, at most once a minute. Opens the feed where none is: transactions that are under way at that moment may not record yet.
-- It begins with a number of its own, so that a cursor of an earlier feed is known to be one: what happened in between was not recorded.
create or replace function holdfast.open_feed() returns void language plpgsql as $$
begin
  update holdfast.feeds as f set read_at = holdfast.now() where f.read_at < holdfast.now() - interval '1 minute';
  if not exists (select from holdfast.feeds) then
    insert into holdfast.feeds (since_seq, since_at, read_at)
    values (nextval('holdfast.event_seq'), holdfast.now(), holdfast.now()) on conflict do nothing;
  end if;
end $$;

-- Records one kind of event for jobs, in the transaction that made it happen and after it did: in the feed, where there is one, and as the
-- webhooks that they and their types have.
create or replace function holdfast.record_events(p_jobs uuid[], p_kind text) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  if coalesce(cardinality(p_jobs), 0) = 0 then
    return;
  end if;
  if exists (select from holdfast.webhooks) or exists (select from holdfast.job_webhooks) then
    perform holdfast.enqueue_webhooks(p_jobs, p_kind);
  end if;
  if not exists (select from holdfast.feeds) then
    return;
  end if;
  perform pg_advisory_xact_lock_shared(hashtext('holdfast.events'), (holdfast.last_event() % 2147483648)::integer);
  insert into holdfast.events (at, job_id, attempt, kind, reason)
  select holdfast.now(), j.id, coalesce(d.attempt, h.attempt, 1), p_kind, d.reason
  from unnest(p_jobs) as j (id)
  left join lateral (
    select h.attempt from holdfast.history as h where h.job_id = j.id order by h.ended_at desc limit 1) as h on true
  left join lateral (
    select d.attempt, d.reason from holdfast.dead_letters as d where d.job_id = j.id and p_kind = 'dead' limit 1) as d on true;
end $$;

-- The same for the attempts that a settle ended; the arrays are those of settle_jobs. Snoozed, blocked and handed back ones are no events.
create or replace function holdfast.record_settled(
  p_jobs uuid[], p_leases bigint[], p_moves text[], p_ended uuid[], p_ended_leases bigint[]
) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  perform holdfast.record_events(array_agg(s.job_id), s.kind) from (
    select s.job_id, case coalesce(s.move, 'complete') when 'complete' then 'completed' when 'retry' then 'retrying'
                       when 'die' then 'dead' when 'exhaust' then 'dead' when 'poison' then 'dead' end as kind
    from unnest(p_jobs, p_leases, p_moves) as s (job_id, lease_id, move)
    where (s.job_id, s.lease_id) in (select e.job_id, e.lease_id from unnest(p_ended, p_ended_leases) as e (job_id, lease_id))
  ) as s where s.kind is not null group by s.kind;
end $$;

-- Notes that events up to this one are no longer kept, in the transaction that removes them.
create or replace function holdfast.lose_events(p_seq bigint, p_at timestamptz) returns void language sql volatile as $$
  update holdfast.feeds as f set since_seq = p_seq, since_at = p_at where f.since_seq < p_seq
$$;

-- Removes old events from the default partition, and closes a feed that nobody has read for as long as events are kept: every cursor is lost by
-- then, and recording would cost for nobody. Returns how many events went.
create or replace function holdfast.sweep_events(p_completed interval, p_limit integer) returns integer language plpgsql as $$
declare
  v_last record;
begin
  with gone as (
    delete from holdfast.events_rest where ctid = any (array(
      select e.ctid from holdfast.events_rest as e where e.at < holdfast.now() - p_completed limit p_limit))
    returning seq, at
  )
  select count(*)::integer as number, max(g.seq) as seq, max(g.at) as at into v_last from gone as g;
  perform holdfast.lose_events(v_last.seq, v_last.at);
  delete from holdfast.feeds as f where f.read_at < holdfast.now() - p_completed;
  return v_last.number;
end $$;

-- One page of events after a cursor, or from the first that is kept: those that fit, at most p_limit, of the next p_look. next: the cursor
-- of the page after it; it moves on also where nothing fits. more: there may be more already. lost: since when events are kept, where the
-- cursor is before that; then there is no page. ahead: no event has had that number yet. closed: there is no feed.
create or replace function holdfast.read_events(
  p_after bigint, p_types text[], p_kinds text[], p_tags text[], p_owner text, p_limit integer, p_look integer,
  out events jsonb, out next bigint, out more boolean, out lost timestamptz, out ahead boolean, out closed boolean
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_until constant bigint := holdfast.events_until();
  v_after bigint := coalesce(p_after, (select f.since_seq from holdfast.feeds as f));
  v_feed holdfast.feeds;
  v_looked integer;
  v_found integer;
  v_last_looked bigint;
  v_last_found bigint;
begin
  with looked as materialized (
    select e.* from holdfast.events as e where e.seq > v_after and e.seq <= v_until order by e.seq limit p_look
  ), fits as materialized (
    select l.*, t.name as type, b.tags, b.owner from looked as l
    cross join lateral (select b.type_id, b.tags, b.owner from holdfast.bodies as b where b.id = l.job_id limit 1) as b
    join holdfast.types as t on t.id = b.type_id
    where (p_types is null or t.name = any (p_types)) and (p_kinds is null or l.kind = any (p_kinds)) and (p_tags is null or b.tags @> p_tags)
      and (p_owner is null or b.owner = p_owner)
    order by l.seq limit p_limit
  )
  select (select count(*) from looked), (select max(l.seq) from looked as l), count(*), max(f.seq), coalesce(jsonb_agg(jsonb_build_object(
           'cursor', f.seq::text, 'kind', f.kind, 'job', f.job_id, 'type', f.type, 'tags', coalesce(to_jsonb(f.tags), '[]'),
           'owner', f.owner, 'at', date_part('epoch', f.at) * 1000, 'attempt', f.attempt, 'reason', f.reason,
           'error', holdfast.error_of_event(f.job_id, f.attempt, f.at, f.kind)) order by f.seq), '[]')
  into v_looked, v_last_looked, v_found, v_last_found, events from fits as f;
  more := v_found = p_limit or v_looked = p_look;
  next := case when v_found = p_limit then v_last_found when v_looked = p_look then v_last_looked else greatest(v_after, v_until) end;
  -- Looked at last: where a partition was dropped while this read, it shows here.
  select * into v_feed from holdfast.feeds;
  closed := not found;
  lost := case when p_after < v_feed.since_seq then v_feed.since_at end;
  ahead := coalesce(p_after > holdfast.last_event(), false);
end $$;

-- What went wrong, where the event is about that: its name and message.
create or replace function holdfast.error_of_event(p_job uuid, p_attempt smallint, p_at timestamptz, p_kind text) returns jsonb
language sql stable
as $$
  select jsonb_build_object('name', e.error -> 'name', 'message', left(e.error ->> 'message', 4000)) from (
    select h.error, h.ended_at from holdfast.history as h
    where h.job_id = p_job and h.attempt = p_attempt and h.ended_at <= p_at and h.error is not null
    union all
    select d.error, d.died_at from holdfast.dead_letters as d where d.job_id = p_job and d.died_at <= p_at and d.error is not null
  ) as e
  where p_kind in ('retrying', 'dead', 'cancelled', 'discarded') order by e.ended_at desc limit 1
$$;
