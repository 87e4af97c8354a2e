-- name: writtenPosition
-- How far the log of this server is written, in bytes, and which server and database it is. Fails on a standby.
select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as position,
       (select c.system_identifier::text from pg_control_system() as c) || ' ' || current_database() as identity

-- name: replayedPosition
-- How far a standby has replayed the log of its primary, in bytes; null: this server is none.
select case when pg_is_in_recovery() then pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 end as position,
       (select c.system_identifier::text from pg_control_system() as c) || ' ' || current_database() as identity
