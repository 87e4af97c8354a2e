-- name: openSession
-- Opens a session for a key, for the person $6 with the roles $7, or with neither for the key of the installation. Answers with its end, in milliseconds since 1970.
select date_part('epoch', holdfast.open_session(decode($1::text, 'hex'), $2::text::integer, $3::text::float8,
                                                $6::text, (select array_agg(r) from jsonb_array_elements_text($7::text::jsonb) as r),
                                                holdfast.actor($4::text, null, $5::text))) * 1000 as expires

-- name: findSession
-- The session of the hash $1, with everything its key allows, while both live; or of the hash $2 that of the installation's own
-- key, for which there are no roles. Of a person it has what their roles allow now. Notes that the key was used, to the minute.
with found as (
  select s.key_id, s.person, s.roles as person_roles, s.expires_at as ends, k.* from holdfast.sessions as s left join holdfast.api_keys as k
    on k.id = s.key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > holdfast.now())
  where s.hash in (decode($1::text, 'hex'), decode($2::text, 'hex')) and s.expires_at > holdfast.now()
    and (k.id is not null or (s.person is not null and s.hash = decode($1::text, 'hex'))
         or (s.key_id is null and s.person is null and s.hash = decode($2::text, 'hex')))
), used as (
  update holdfast.api_keys as k set last_used_at = date_trunc('minute', holdfast.now()) from found as f
  where k.id = f.id and (f.last_used_at is null or f.last_used_at < holdfast.now() - interval '1 minute')
)
select f.id, coalesce(f.service, f.person) as service, to_jsonb(f.types) as types, coalesce(f.rate_limit, 1000) as rate,
       date_part('epoch', least(f.ends, f.expires_at)) * 1000 as ends,
       (select coalesce(jsonb_agg(distinct p), '[]') from holdfast.roles as r cross join unnest(r.permissions) as p
        where r.name = any (coalesce(f.roles, f.person_roles))) as permissions
from found as f

-- name: endSession
-- Ends a session. False: there is none.
select holdfast.end_session(decode($1::text, 'hex'), holdfast.actor($2::text, null, $3::text)) as known

-- name: endSessionsOf
-- Ends every session of a person. Answers with how many there were.
select holdfast.end_sessions_of($1::text, holdfast.actor($2::text, $3::text, $4::text)) as ended
