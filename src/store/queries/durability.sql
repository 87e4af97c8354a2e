-- name: readDurability
-- The settings that decide whether what this server has committed survives a crash, as they are for this session.
select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
       current_setting('synchronous_commit') as commits, current_setting('synchronous_standby_names') as standbys
