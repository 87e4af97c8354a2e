-- name: evaluateAlerts
-- Finds what began and what is over, and enqueues the jobs that notify targets, unless somebody looked within $1 milliseconds.
select state, rule, subject, value from holdfast.evaluate_alerts($1::text::float8 * interval '1 millisecond')

-- name: readAlerts
-- The trouble there is now. Moments are milliseconds since 1970.
select a.rule, r.kind, a.subject, a.value, r.threshold, date_part('epoch', a.since) * 1000 as since
from holdfast.alerts as a join holdfast.alert_rules as r on r.name = a.rule where a.fired_at is not null order by a.since, a.rule, a.subject

-- name: readAlertRules
-- Every rule, or one.
select r.name, r.kind, r.threshold, r.type, r.min_priority as minpriority, extract(epoch from r.lasts)::float8 * 1000 as lasts,
       extract(epoch from r.hold)::float8 * 1000 as hold, r.severity, date_part('epoch', r.silenced_until) * 1000 as silenced, r.enabled
from holdfast.alert_rules as r where $1::text is null or r.name = $1::text order by r.name

-- name: setAlertRule
-- Makes a rule or changes the named fields of one.
select holdfast.set_alert_rule($1::text, $2::text::jsonb, holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: dropAlertRule
-- Removes a rule. False: there is none of that name.
select holdfast.drop_alert_rule($1::text, holdfast.actor($2::text, $3::text, $4::text)) as known

-- name: readAlertTargets
-- Every target, without its secret.
select t.id, t.url, t.form, to_jsonb(t.rules) as rules, date_part('epoch', t.created_at) * 1000 as created, t.created_by as by
from holdfast.alert_targets as t order by t.id

-- name: alertTarget
-- Which address to notify and what to sign with; old: what to sign with too, for those who do not have the new secret yet. No row: the target was
-- removed.
select t.url, t.form, t.secret, case when t.old_until > holdfast.now() then t.old_secret end as old from holdfast.alert_targets as t where t.id = $1::text::integer

-- name: addAlertTarget
-- Makes a target.
select holdfast.add_alert_target($1::text, $2::text, $3::text, $4::text[], holdfast.actor($5::text, $6::text, $7::text)) as id

-- name: rotateAlertSecret
-- Gives a target another secret. False: there is none of that id.
select holdfast.rotate_alert_secret($1::text::integer, $2::text, $3::text::float8, holdfast.actor($4::text, $5::text, $6::text)) as known

-- name: dropAlertTarget
-- Removes a target. False: there is none of that id.
select holdfast.drop_alert_target($1::text::integer, holdfast.actor($2::text, $3::text, $4::text)) as known

-- name: testAlertTarget
-- Notifies a target as if there were trouble; the job that does it, or null where there is no such target.
select holdfast.test_alert_target($1::text::integer, holdfast.actor($2::text, $3::text, $4::text))::text as id

-- name: callersOfTargets
-- How many workers that live notify targets.
select count(*)::integer as workers from holdfast.workers as w join holdfast.types as t on t.name = 'holdfast:alert' and t.id = any (w.types)
where w.stopped_at is null and w.seen_at > holdfast.now() - interval '3 minutes'
