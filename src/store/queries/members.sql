-- name: beMember
-- Gives this database its name among the members, unless it has one; answers with the name it has.
select holdfast.be_member($1::text) as name

-- name: readMembership
-- The name of this member, and whether jobs are routed to it; no row: it has none. On any connection, also in the transaction of a caller.
select m.name, m.routed from holdfast.membership as m

-- name: routeMember
-- Opens this member for jobs that are routed by their key, or drains it of them.
select holdfast.route_member($1::text::boolean, holdfast.actor($2::text, $3::text, $4::text))::text as done

-- name: memberLoad
-- What would be lost with this database: jobs that live, dead letters that wait for a person, schedules that stand; each counted up to 1,000,000.
select (select count(*) from (select from holdfast.live limit 1000000) as l)::float8 as live,
       (select count(*) from (select from holdfast.dead_letters limit 1000000) as d)::float8 as dead,
       (select count(*) from holdfast.schedules)::float8 as schedules
