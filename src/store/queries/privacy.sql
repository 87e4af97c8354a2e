-- name: nextToEncrypt
-- The next $2 payloads by id, and of those that are not encrypted with the key $3 the text. $4: also those of types that do not
-- ask for it. Reads no more than it answers with.
select b.id::text as id, t.name as type,
       case when case when b.payload::text like '{"$enc"%' then b.payload -> '$enc' ->> 'k' is distinct from $3::text
                      else t.encrypted or $4::text::boolean end
            then b.payload::text end as text
from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
where b.id > $1::text::uuid order by b.id limit $2::text::integer

-- name: nextCheckpointsToEncrypt
-- The same of checkpoints.
select c.job_id::text as id, t.name as type,
       case when case when c.value::text like '{"$enc"%' then c.value -> '$enc' ->> 'k' is distinct from $3::text
                      else t.encrypted or $4::text::boolean end
            then c.value::text end as text
from holdfast.checkpoints as c join holdfast.bodies as b on b.id = c.job_id join holdfast.types as t on t.id = b.type_id
where c.job_id > $1::text::uuid order by c.job_id limit $2::text::integer

-- name: nextResultsToEncrypt
-- The same of results.
select r.job_id::text as id, t.name as type,
       case when case when r.result::text like '{"$enc"%' then r.result -> '$enc' ->> 'k' is distinct from $3::text
                      else t.encrypted or $4::text::boolean end
            then r.result::text end as text
from holdfast.results as r join holdfast.bodies as b on b.id = r.job_id join holdfast.types as t on t.id = b.type_id
where r.job_id > $1::text::uuid order by r.job_id limit $2::text::integer

-- name: putEncrypted
-- Puts encrypted payloads in place of what they were made from. One that has changed meanwhile is left as it is.
update holdfast.bodies as b set payload = n.made::json from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, was, made)
where b.id = n.id and b.payload::text = n.was
returning b.id::text as id

-- name: putEncryptedCheckpoints
-- The same of checkpoints.
update holdfast.checkpoints as c set value = n.made::json from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, was, made)
where c.job_id = n.id and c.value::text = n.was
returning c.job_id::text as id

-- name: putEncryptedResults
-- The same of results.
update holdfast.results as r set result = n.made::json from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, was, made)
where r.job_id = n.id and r.result::text = n.was
returning r.job_id::text as id

-- name: targetSecrets
-- The secrets of every target; there are few.
select t.id, t.url, t.secret, t.old_secret as old from holdfast.alert_targets as t order by t.id

-- name: putTargetSecrets
-- Puts encrypted secrets in place of what they were made from. Those that have changed meanwhile are left as they are.
update holdfast.alert_targets as t set secret = $2::text, old_secret = $3::text
where t.id = $1::text::integer and t.secret = $4::text and t.old_secret is not distinct from $5::text
returning t.id

-- name: nextStepsToEncrypt
-- The same of steps: the id is that of the job and the name. What a wait took is the signal as it was sent.
select s.job_id::text || '/' || s.name as id, t.name as type, case s.kind when 'signal' then 'signal' else 'step' end as what,
       case when case when s.result::text like '{"$enc"%' then s.result -> '$enc' ->> 'k' is distinct from $3::text
                      else s.result is not null and (t.encrypted or $4::text::boolean) end
            then s.result::text end as text
from holdfast.steps as s join holdfast.bodies as b on b.id = s.job_id join holdfast.types as t on t.id = b.type_id
where (s.job_id, s.name) > (left($1::text, 36)::uuid, substr($1::text, 38)) order by s.job_id, s.name limit $2::text::integer

-- name: nextSignalsToEncrypt
-- The same of signals: the id is that of the job and its own.
select g.job_id::text || '/' || g.id as id, t.name as type,
       case when case when g.payload::text like '{"$enc"%' then g.payload -> '$enc' ->> 'k' is distinct from $3::text
                      else t.encrypted or $4::text::boolean end
            then g.payload::text end as text
from holdfast.signals as g join holdfast.bodies as b on b.id = g.job_id join holdfast.types as t on t.id = b.type_id
where (g.job_id, g.id) > (left($1::text, 36)::uuid, coalesce(nullif(substr($1::text, 38), ''), '0')::bigint)
order by g.job_id, g.id limit $2::text::integer

-- name: putEncryptedSteps
-- The same of steps.
update holdfast.steps as s set result = n.made::json from unnest($1::text[], $2::text[], $3::text[]) as n (id, was, made)
where s.job_id = left(n.id, 36)::uuid and s.name = substr(n.id, 38) and s.result::text = n.was
returning s.name as id

-- name: putEncryptedSignals
-- The same of signals.
update holdfast.signals as g set payload = n.made::json from unnest($1::text[], $2::text[], $3::text[]) as n (id, was, made)
where g.id = substr(n.id, 38)::bigint and g.payload::text = n.was
returning g.name as id
