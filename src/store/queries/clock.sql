-- name: readClock
-- What time it is for everything that is decided by time.
select date_part('epoch', holdfast.now()) * 1000 as now

-- name: askForTime
-- For tests. Notes, for the rest of this transaction, where moveClock is to go: so many milliseconds on, or to a time. In settings,
-- because a do block takes no arguments.
select set_config('holdfast.clock_by', coalesce($1::text, '0'), true) as by,
       set_config('holdfast.clock_to', coalesce($2::text, ''), true) as to

-- name: moveClock
-- For tests. Replaces the one clock by one that runs on from the moved point, and wakes every lane, because what is due has
-- changed. The offset is in seconds: days added to a timestamp would follow the daylight saving of the session.
do $move$
declare
  v_to text := nullif(current_setting('holdfast.clock_to'), '');
  v_by interval := current_setting('holdfast.clock_by')::float8 * interval '1 millisecond';
  v_seconds numeric;
begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast.clock', 0));
  v_seconds := extract(epoch from coalesce(v_to::timestamptz, holdfast.now() + v_by) - clock_timestamp());
  execute format(
    'create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe as %L',
    format('select pg_catalog.clock_timestamp() + interval %L', v_seconds || ' seconds'));
  perform holdfast.wake_lanes(array(select id from holdfast.lanes), true);
end $move$

-- name: pretendCompletion
-- For tests. What a handler that is run by hand sends in its transaction in place of completeAttempt: there is no job to complete.
select true as held
