-- name: openSession
-- Opens a session for a key, or with null for that of the installation. Answers with its end, in milliseconds since 1970.
select date_part('epoch', holdfast.open_session(decode($1::text, 'hex'), $2::text::integer, $3::text::float8,
                                                holdfast.actor($4::text, null, $5::text))) * 1000 as expires

-- name: findSession
-- The session of the hash $1, with everything its key allows, while both live; or of the hash $2 that of the installation's own
-- key, for which there are no roles. Notes that the key was used, to the minute.
with found as (
  select s.key_id, s.expires_at as ends, k.* from holdfast.sessions as s left join holdfast.api_keys as k
    on k.id = s.key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > holdfast.now())
  where s.hash in (decode($1::text, 'hex'), decode($2::text, 'hex')) and s.expires_at > holdfast.now()
    and (k.id is not null or (s.key_id is null and s.hash = decode($2::text, 'hex')))
), used as (
  update holdfast.api_keys as k set last_used_at = date_trunc('minute', holdfast.now()) from found as f
  where k.id = f.id and (f.last_used_at is null or f.last_used_at < holdfast.now() - interval '1 minute')
)
select f.id, f.service, to_jsonb(f.types) as types, f.rate_limit as rate,
       date_part('epoch', least(f.ends, f.expires_at)) * 1000 as ends,
       (select coalesce(jsonb_agg(distinct p), '[]') from holdfast.roles as r cross join unnest(r.permissions) as p
        where r.name = any (f.roles)) as permissions
from found as f

-- name: endSession
-- Ends a session. False: there is none.
select holdfast.end_session(decode($1::text, 'hex'), holdfast.actor($2::text, null, $3::text)) as known
