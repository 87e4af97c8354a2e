-- name: defineWebhooks
-- Sets the webhooks of these types as their definitions have them, and removes those that are gone. All in one statement, in the order of the types.
with gone as (
  delete from holdfast.webhooks as w using holdfast.types as t
  where t.id = w.type_id and t.name = any ($1::text[]) and not exists (
    select from jsonb_to_recordset($2::text::jsonb) as g (type text) where g.type = t.name)
)
insert into holdfast.webhooks as w (type_id, url, kinds, secrets)
select t.id, g.url, array(select jsonb_array_elements_text(g.kinds)), array(select jsonb_array_elements_text(g.secrets))
from jsonb_to_recordset($2::text::jsonb) as g (type text, url text, kinds jsonb, secrets jsonb) join holdfast.types as t on t.name = g.type
order by t.id
on conflict (type_id) do update set url = excluded.url, kinds = excluded.kinds, secrets = excluded.secrets

-- name: webhookOfType
-- Where to send and what to sign with. No row: the type has no webhook any more.
select w.url, to_jsonb(w.secrets) as secrets from holdfast.webhooks as w join holdfast.types as t on t.id = w.type_id where t.name = $1::text

-- name: webhookOfJob
-- The same of a job with a webhook of its own. No row: the job was forgotten.
select w.url, to_jsonb(w.secrets) as secrets from holdfast.job_webhooks as w where w.job_id = $1::uuid

-- name: jobWebhookSecrets
-- The secrets of the next $2 jobs that have webhooks, by their ids.
select w.job_id::text as id, w.url, to_jsonb(w.secrets) as secrets from holdfast.job_webhooks as w
where w.job_id > $1::uuid order by w.job_id limit $2::text::integer

-- name: putJobWebhookSecrets
-- Puts encrypted secrets in place of what they were made from. Those that have changed meanwhile are left as they are.
update holdfast.job_webhooks as w set secrets = $3::text[] where w.job_id = $1::uuid and w.secrets = $2::text[] returning w.job_id::text as id
