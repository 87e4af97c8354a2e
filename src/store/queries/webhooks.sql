-- name: defineWebhooks
-- Sets the webhooks of these types as their definitions have them, and removes those that are gone. All in one statement, in the order of the types.
with gone as (
  delete from holdfast.webhooks as w using holdfast.types as t
  where t.id = w.type_id and t.name = any ($1::text[]) and not exists (
    select from jsonb_to_recordset($2::text::jsonb) as g (type text) where g.type = t.name)
)
insert into holdfast.webhooks as w (type_id, url, kinds, secret)
select t.id, g.url, array(select jsonb_array_elements_text(g.kinds)), g.secret
from jsonb_to_recordset($2::text::jsonb) as g (type text, url text, kinds jsonb, secret text) join holdfast.types as t on t.name = g.type
order by t.id
on conflict (type_id) do update set url = excluded.url, kinds = excluded.kinds, secret = excluded.secret

-- name: webhookOfType
-- Where to send and what to sign with. No row: the type has no webhook any more.
select w.url, w.secret from holdfast.webhooks as w join holdfast.types as t on t.id = w.type_id where t.name = $1::text
