-- name: findKey
-- The key of that hash, if it lives, with everything it allows. Notes that it was used, to the minute.
with found as (
  select k.* from holdfast.api_keys as k
  where k.hash = decode($1::text, 'hex') and k.revoked_at is null and (k.expires_at is null or k.expires_at > holdfast.now())
), used as (
  update holdfast.api_keys as k set last_used_at = date_trunc('minute', holdfast.now()) from found as f
  where k.id = f.id and (f.last_used_at is null or f.last_used_at < holdfast.now() - interval '1 minute')
)
select f.id, f.service, encode(f.hash, 'hex') as hash, to_jsonb(f.types) as types, f.rate_limit as rate,
       (select coalesce(jsonb_agg(distinct p), '[]') from holdfast.roles as r cross join unnest(r.permissions) as p
        where r.name = any (f.roles)) as permissions
from found as f

-- name: findCertificate
-- The certificate of one of the subjects $1, or else of the service $2, if it lives, with everything it allows. Notes that it was
-- used, to the minute.
with found as (
  select k.* from holdfast.api_keys as k
  where k.subject is not null and (k.subject = any ($1::text[]) or k.service = $2::text)
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > holdfast.now())
  order by k.service = $2::text desc nulls last, k.id desc limit 1
), used as (
  update holdfast.api_keys as k set last_used_at = date_trunc('minute', holdfast.now()) from found as f
  where k.id = f.id and (f.last_used_at is null or f.last_used_at < holdfast.now() - interval '1 minute')
)
select f.id, f.service, to_jsonb(f.types) as types, f.rate_limit as rate,
       (select coalesce(jsonb_agg(distinct p), '[]') from holdfast.roles as r cross join unnest(r.permissions) as p
        where r.name = any (f.roles)) as permissions
from found as f

-- name: createKey
-- Makes a key known by its hash, or a certificate by its subject.
select holdfast.create_key($1::text, decode($2::text, 'hex'), $3::text, $4::text, $5::text[], $6::text[], $7::text::integer,
                           $8::text::float8, holdfast.actor($9::text, $10::text, $11::text)) as id

-- name: rotateKey
-- A second key like the first, which goes on for $4 milliseconds. Null: no such key lives.
select holdfast.rotate_key($1::text::integer, decode($2::text, 'hex'), $3::text, $4::text::float8,
                           holdfast.actor($5::text, $6::text, $7::text)) as id

-- name: revokeKey
-- Ends a key. False: there is none of that id.
select holdfast.revoke_key($1::text::integer, holdfast.actor($2::text, $3::text, $4::text)) as known

-- name: readKeys
-- Every key, of one service or one id or of all, oldest first. Moments are milliseconds since 1970.
select id, service, prefix, subject, to_jsonb(roles) as roles, to_jsonb(types) as types, rate_limit as rate, created_by as by,
       date_part('epoch', created_at) * 1000 as created, date_part('epoch', expires_at) * 1000 as expires,
       date_part('epoch', revoked_at) * 1000 as revoked, date_part('epoch', last_used_at) * 1000 as used,
       revoked_at is null and (expires_at is null or expires_at > holdfast.now()) as live
from holdfast.api_keys
where ($1::text is null or service = $1::text) and ($2::text is null or id = $2::text::integer) order by id

-- name: readRoles
-- Every role with what it allows.
select name, to_jsonb(permissions) as permissions, built_in as builtin from holdfast.roles order by name

-- name: setRole
-- Makes a role or changes one.
select holdfast.set_role($1::text, $2::text[], holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: dropRole
-- Removes a role. False: there is none of that name.
select holdfast.drop_role($1::text, holdfast.actor($2::text, $3::text, $4::text)) as known

-- name: readAudit
-- At most $5 lines of the audit log before the one with id $4, latest first, by actor, action, target and time.
select id::text as id, date_part('epoch', at) * 1000 as at, actor, origin, action, target, before, after, why
from holdfast.audit_log
where ($1::text is null or actor = $1::text) and ($2::text is null or action = $2::text) and ($3::text is null or target = $3::text)
  and ($4::text is null or id < $4::text::bigint)
  and ($6::text is null or audit_log.at >= $6::text::timestamptz) and ($7::text is null or audit_log.at < $7::text::timestamptz)
order by audit_log.id desc limit $5::text::integer

-- name: spendRequests
-- Notes that a server let in so many requests of a service; answers with how many are left of its rate for all servers.
select holdfast.spend_requests($1::text, $2::text::integer, $3::text::double precision) as left
