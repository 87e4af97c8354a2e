-- name: showPresence
-- Holds, as long as this connection lives, a lock that others can hold too. False: somebody is about to stop the server.
select pg_try_advisory_lock_shared(hashtextextended('holdfast.presence', 0)) as held

-- name: endPresence
-- Lets go of that lock.
select pg_advisory_unlock_shared(hashtextextended('holdfast.presence', 0)) as released

-- name: takeSoleUse
-- True when nobody else holds the lock, and from then on nobody can.
select pg_try_advisory_lock(hashtextextended('holdfast.presence', 0)) as alone
