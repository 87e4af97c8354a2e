-- name: roughlyStored
-- How many payloads, checkpoints, results, steps, signals and executions there are, as the statistics have it.
select coalesce(sum(s.n_live_tup), 0)::float8 as texts from pg_stat_all_tables as s join pg_class as c on c.oid = s.relid
where c.relnamespace = 'holdfast'::regnamespace and c.relkind = 'r'
  and c.relname ~ '^(bodies|checkpoints|results|steps|signals|executions|tasks)(_rest|_[0-9]{8})?$'

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
-- Puts encrypted payloads in place of what they were made from. One that has changed meanwhile is left as it is. Nothing can be searched for
-- in them.
update holdfast.bodies as b set payload = n.made::json, search_keys = null from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, was, made)
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

-- name: nextInputsToEncrypt
-- The same of the inputs of executions. A plain one belongs to an encrypted type where a task does, and stays plain while the database needs it.
select e.id::text as id, e.workflow as type, 'payload' as what,
       case when case when e.input::text like '{"$enc"%' then e.input -> '$enc' ->> 'k' is distinct from $3::text
                      else ($4::text::boolean or exists (select from holdfast.tasks as t join holdfast.types as y on y.name = t.type
                                                         where t.execution_id = e.id and y.encrypted))
                           and not holdfast.needs_plain_input(e, $4::text::boolean) end
            then e.input::text end as text
from holdfast.executions as e where e.id > $1::text::uuid order by e.id limit $2::text::integer

-- name: nextTaskPayloadsToEncrypt
-- The same of the payloads of tasks: the id is that of the job, the execution, the item and the name. One that may yet begin with a plain input of its
-- execution gets that, encrypted for its job, so that the input can be encrypted afterwards.
select t.job_id::text || '/' || t.execution_id || '/' || t.item || '/' || t.name as id, y.name as type, 'payload' as what,
       case when case when t.payload::text like '{"$enc"%' then t.payload -> '$enc' ->> 'k' is distinct from $3::text
                      when t.payload is not null then y.encrypted or $4::text::boolean
                      else holdfast.begins_with_input(t) and e.input::text not like '{"$enc"%' and (y.encrypted or $4::text::boolean) end
            then coalesce(t.payload, e.input)::text end as text
from holdfast.tasks as t join holdfast.types as y on y.name = t.type join holdfast.executions as e on e.id = t.execution_id
where t.job_id is not null
  and (t.execution_id, t.name, t.item) > (
    coalesce(nullif(substr($1::text, 38, 36), ''), $1::text)::uuid, regexp_replace(substr($1::text, 75), '^-?\d+/', ''),
    coalesce(nullif(split_part($1::text, '/', 3), ''), '-1')::integer)
order by t.execution_id, t.name, t.item limit $2::text::integer

-- name: nextTaskResultsToEncrypt
-- The same of their results. A plain one stays so where the database may have to read it: for a condition, for items, for a sub-workflow.
select t.job_id::text || '/' || t.execution_id || '/' || t.item || '/' || t.name as id, y.name as type, 'result' as what,
       case when case when t.result::text like '{"$enc"%' then t.result -> '$enc' ->> 'k' is distinct from $3::text
                      else t.result is not null and (y.encrypted or $4::text::boolean)
                           and not exists (select from holdfast.tasks as o where o.execution_id = t.execution_id
                                           and (o.condition is not null or o.each_of is not null or o.sub_workflow is not null))
                           and not exists (select from holdfast.executions as e where e.id = t.execution_id and e.parent_id is not null) end
            then t.result::text end as text
from holdfast.tasks as t join holdfast.types as y on y.name = t.type
where t.job_id is not null
  and (t.execution_id, t.name, t.item) > (
    coalesce(nullif(substr($1::text, 38, 36), ''), $1::text)::uuid, regexp_replace(substr($1::text, 75), '^-?\d+/', ''),
    coalesce(nullif(split_part($1::text, '/', 3), ''), '-1')::integer)
order by t.execution_id, t.name, t.item limit $2::text::integer

-- name: putEncryptedInputs
-- The same of inputs. A task of a type that is not encrypted, which would have begun with the plain input, is given it.
with held as materialized (
  select e.id from holdfast.executions as e where e.id = any ($1::uuid[]) order by e.id for update
), exchanged as (
  update holdfast.executions as e set input = n.made::json
  from unnest($1::uuid[], $2::text[], $3::text[]) as n (id, was, made) join held as h on h.id = n.id
  where e.id = h.id and e.input::text = n.was and (n.was like '{"$enc"%' or not holdfast.needs_plain_input(e, false))
  returning e.id, n.was
), given as (
  update holdfast.tasks as t set payload = x.was::json from exchanged as x
  where t.execution_id = x.id and x.was not like '{"$enc"%' and t.payload is null and t.type is not null and t.each_of is null and t.status <> 'completed'
    and not exists (select from holdfast.types as y where y.name = t.type and y.encrypted)
)
select x.id::text as id from exchanged as x

-- name: putEncryptedTaskPayloads
-- The same of the payloads of tasks. Whoever changes a task holds its execution. One that a resume gave another job meanwhile is left as it is.
with held as materialized (
  select e.id, e.input from holdfast.executions as e where e.id = any (array(select substr(i, 38, 36)::uuid from unnest($1::text[]) as i)) order by e.id for update
)
update holdfast.tasks as t set payload = n.made::json
from unnest($1::text[], $2::text[], $3::text[]) as n (id, was, made) join held as h on h.id = substr(n.id, 38, 36)::uuid
where t.execution_id = h.id and t.name = regexp_replace(substr(n.id, 75), '^-?\d+/', '') and t.item = split_part(n.id, '/', 3)::integer
  and t.job_id = left(n.id, 36)::uuid and coalesce(t.payload, h.input)::text = n.was
returning t.name as id

-- name: putEncryptedTaskResults
-- The same of their results.
with held as materialized (
  select e.id from holdfast.executions as e where e.id = any (array(select substr(i, 38, 36)::uuid from unnest($1::text[]) as i)) order by e.id for update
)
update holdfast.tasks as t set result = n.made::json
from unnest($1::text[], $2::text[], $3::text[]) as n (id, was, made) join held as h on h.id = substr(n.id, 38, 36)::uuid
where t.execution_id = h.id and t.name = regexp_replace(substr(n.id, 75), '^-?\d+/', '') and t.item = split_part(n.id, '/', 3)::integer
  and t.result::text = n.was
returning t.name as id
