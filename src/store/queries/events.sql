-- name: openFeed
-- Says that events are read, and opens the feed where none is open. Of a feed that was read within the last minute nothing is written.
select holdfast.open_feed()

-- name: readEvents
-- One page of events after a cursor (null: from the first that is kept). What it promises stands at the head of functions/events.sql.
select r.events, r.next::text as next, r.more, date_part('epoch', r.lost) * 1000 as lost, r.ahead, r.closed
from holdfast.read_events($1::text::bigint, $2::text[], $3::text[], $4::text[], $5::text, $6::text::integer, $7::text::integer) as r

-- name: eventsNow
-- The cursor of one who reads only what comes.
select holdfast.events_until()::text as cursor
