-- name: replayDead
-- Makes dead jobs due again, with a new payload where $5 is one. One job always has an answer. $6: the sensitive types that are meant.
select job_id::text as id, done, was, status, because
from holdfast.replay_dead($1::uuid[], $5::text, holdfast.actor($2::text, $3::text, $4::text), $6::text[])

-- name: sensitiveDead
-- The sensitive types of which a dead letter fits a filter, or may, where not all were read.
select t.name from holdfast.types as t
where t.sensitive and ($1::text is null or t.name = $1::text)
  and exists (select from holdfast.find_dead(t.name, $2::text, $3::text, $4::text::timestamptz, $5::text::timestamptz, null, null, 1,
                                             $6::text::integer, $7::text[], $8::text::uuid))
order by t.name

-- name: discardDead
-- Ends dead jobs for good. One job always has an answer.
select job_id::text as id, done, was, status, because from holdfast.discard_dead($1::uuid[], holdfast.actor($2::text, $3::text, $4::text))

-- name: matchingDead
-- The next dead letters that fit a filter, newest first. A row that does not fit is the last and says how far it read.
select job_id::text as id, to_char(died_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, fits
from holdfast.find_dead($1::text, $2::text, $3::text, $4::text::timestamptz, $5::text::timestamptz, $6::text::timestamptz,
                        $7::text::uuid, $8::text::integer, $9::text::integer, $10::text[], $11::text::uuid)

-- name: deadLettersPage
-- The same with what a list shows of each. The error without its stack, which is long and stands in the story.
select f.job_id::text as id, to_char(f.died_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, f.fits,
       date_part('epoch', f.died_at) * 1000 as died_at, t.name as type, f.priority, f.attempt, f.reason, f.error - 'stack' as error, b.max_attempts, date_part('epoch', b.created_at) * 1000 as created_at
from holdfast.find_dead($1::text, $2::text, $3::text, $4::text::timestamptz, $5::text::timestamptz, $6::text::timestamptz,
                        $7::text::uuid, $8::text::integer, $9::text::integer, $10::text[], $11::text::uuid) as f
join holdfast.types as t on t.id = f.type_id
left join lateral (select b.max_attempts, b.created_at from holdfast.bodies as b where b.id = f.job_id limit 1) as b on true
order by f.died_at desc, f.job_id desc, f.fits desc

-- name: deadLetterOfJob
-- One dead letter. No row: the job is not dead.
select d.reason, date_part('epoch', d.died_at) * 1000 as died_at, d.error from holdfast.dead_letters as d where d.job_id = $1::text::uuid
