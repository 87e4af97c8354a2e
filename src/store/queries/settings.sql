-- name: readSettings
-- Every setting: what counts, what the code and an operator say, and what counts where neither does.
select s.name, holdfast.setting(s.name) as value, s.standard, s.defined, s.operator,
       case when s.changed_at is not null then jsonb_build_object('by', s.changed_by, 'why', s.changed_why,
         'at', date_part('epoch', s.changed_at) * 1000) end as changed
from holdfast.settings as s order by s.name

-- name: setSetting
-- An operator's value; null gives the setting back to the code.
select holdfast.set_setting($1::text, $2::text::float8, holdfast.actor($3::text, $4::text, $5::text))::text as done

-- name: defineSetting
-- What the code of a worker says, which counts while no operator has said anything.
update holdfast.settings set defined = $2::text::float8 where name = $1::text and defined is distinct from $2::text::float8
