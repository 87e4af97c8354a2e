-- Notifications: NOTIFY to workers that are idle. A hint, never more: underneath workers poll.

-- Whether a NOTIFY may be sent. It is a hint to those who would look by themselves a little later, and must never cost a commit; but
-- where the server's queue of them is full, because a session that listens sits in a transaction, every commit that sends one fails, and
-- that cannot be caught. So from half of it on none is sent. Asking also lets go of what everybody has heard, which nobody else
-- does once the queue is full. A transaction that is to be prepared, in which NOTIFY is refused, turns calls off by itself: with a setting
-- and not an argument on purpose, because whoever prepares it is often not whoever enqueues in it.
create or replace function holdfast.may_notify() returns boolean language sql volatile as $$
  select current_setting('holdfast.notify', true) is distinct from 'off' and pg_notification_queue_usage() < 0.5
$$;

-- Wakes workers of a lane, once per transaction however often it is called. Never carries data.
-- NOTIFY serialises commits across the whole database, so it is sent only where a worker may be idle; 'always' is for
-- transactions that commit later, when that may have changed.
create or replace function holdfast.wake_lanes(p_lanes smallint[], p_always boolean) returns void language plpgsql as $$
begin
  perform pg_notify('holdfast.lane_' || lane.id, '')
  from unnest(p_lanes) as lane (id)
  -- In this order, so that the queue of notifications is asked for only by those who would send one.
  where case when p_always or exists (select from holdfast.idle_workers as s where s.lane_id = lane.id) then holdfast.may_notify() end;
end $$;
