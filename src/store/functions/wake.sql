-- Notifications: NOTIFY to workers that are idle. A hint, never more: underneath workers poll.

-- Whether a NOTIFY may be sent. A notification is only a hint to workers that would poll a little later, so it must never make a commit fail. But
-- when the server's queue of notifications is full, because a session that listens stays in a transaction, every commit that sends one fails, and
-- no handler can catch that error. So none is sent while the queue is half full or more. Asking how full it is also makes the server remove the
-- notifications that every session has received, which nothing else does once the queue is full.
-- PostgreSQL refuses NOTIFY in a transaction that is to be prepared. Such a transaction turns notifications off with a setting, and not with an
-- argument, because the code that prepares the transaction is often not the code that enqueues in it.
create or replace function holdfast.may_notify() returns boolean language sql volatile as $$
  select current_setting('holdfast.notify', true) is distinct from 'off' and pg_notification_queue_usage() < 0.5
$$;

-- Notifies idle workers of a lane, once per transaction however often this is called. The notification has no data.
-- NOTIFY serialises commits across the whole database, so it is sent only while a worker of the lane is idle; 'always' is for
-- transactions that commit later, when a worker may have become idle.
create or replace function holdfast.wake_lanes(p_lanes smallint[], p_always boolean) returns void language plpgsql as $$
begin
  perform pg_notify('holdfast.lane_' || lane.id, '')
  from unnest(p_lanes) as lane (id)
  -- In this order, so that the queue of notifications is asked for only by those who would send one.
  where case when p_always or exists (select from holdfast.idle_workers as s where s.lane_id = lane.id) then holdfast.may_notify() end;
end $$;

-- Notifies idle workers of these lanes that a job has become free. Up to ten idle workers of a lane are all notified, on the channel of the
-- lane. Of more than ten, only four are notified, each on its own channel, because a hundred workers that claim one job cost more than the job.
-- p_types: each of the four has handlers for all of these types. Null: for all types of the worker p_but. That worker was notified but has no free slot,
-- so others are notified in its stead (unsubscribeIdle); it does not know for which of its types it was notified.
-- Where no worker of a large fleet has a channel of its own, all are notified on the channel of the lane.
-- The workers of one host have ids close to each other. So the four are chosen a quarter of all idle workers apart, beginning with a random one, and
-- a host that has just died does not have all four. If all four are dead, the job waits until any other worker of the fleet polls.
create or replace function holdfast.notify_idle(p_lanes smallint[], p_types integer[], p_but integer) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_lane smallint;
  v_types integer[] := coalesce(p_types, (select w.types from holdfast.workers as w where w.id = p_but));
  v_first integer;
  v_span integer;
  v_at integer;
  v_from integer;
  v_next integer;
  v_notified integer[];
begin
  foreach v_lane in array coalesce(p_lanes, '{}') loop
    v_notified := '{}';
    if exists (select from holdfast.idle_workers as s where s.lane_id = v_lane order by s.worker_id offset 10) then
      select min(s.worker_id), max(s.worker_id) - min(s.worker_id) + 1 into v_first, v_span from holdfast.idle_workers as s where s.lane_id = v_lane;
      v_at := floor(random() * v_span);
      for v_quarter in 0..3 loop
        v_from := v_first + (v_at + v_quarter * v_span::bigint / 4) % v_span;
        select w.id into v_next from (
          (select s.worker_id, 1 as turn from holdfast.idle_workers as s where s.lane_id = v_lane and s.worker_id >= v_from order by s.worker_id)
          union all
          (select s.worker_id, 2 from holdfast.idle_workers as s where s.lane_id = v_lane and s.worker_id < v_from order by s.worker_id)
        ) as s join holdfast.workers as w on w.id = s.worker_id
        -- One that was not seen lately may be gone.
        where w.types @> v_types and w.id is distinct from p_but and w.id <> all (v_notified) and w.own_channel and w.swallowed_at is null
          and w.stopped_at is null and w.seen_at > holdfast.now() - interval '40 seconds'
        limit 1;
        exit when v_next is null;
        v_notified := v_notified || v_next;
      end loop;
    end if;
    if v_notified = '{}' then
      perform holdfast.wake_lanes(array[v_lane], false);
    elsif holdfast.may_notify() then
      perform pg_notify('holdfast.worker_' || c.id, 'jobs') from unnest(v_notified) as c (id);
    end if;
  end loop;
end $$;
