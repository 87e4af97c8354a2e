-- name: errorGroups
-- Error groups with a failure since $3, of these types (null: all) and this fingerprint (null: any), with how many dead letters each has, counted up
-- to 1001. With $6 those that have any, of the first thousand groups. Times are milliseconds since 1970.
select t.name as type, g.fingerprint, g.name, g.message, g.job_id::text as job, date_part('epoch', g.first_at) * 1000 as first_at,
       date_part('epoch', g.last_at) * 1000 as last_at, g.count::float8 as count, g.days, d.dead
from holdfast.list_error_groups(
  case when $1::text[] is not null then array(select t.id from holdfast.types as t where t.name = any ($1::text[])) end,
  $2::text, $3::text::timestamptz, $4::text::boolean,
  case when $6::text::boolean then 1000 else $5::text::integer end) with ordinality
  as g (type_id, fingerprint, name, message, job_id, first_at, last_at, count, days, ordinal)
join holdfast.types as t on t.id = g.type_id
cross join lateral (select holdfast.dead_in_group(g.type_id, g.fingerprint, 1001) as dead) as d
where d.dead > 0 or not $6::text::boolean order by g.ordinal limit $5::text::integer
