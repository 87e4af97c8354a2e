-- name: createBatch
-- Makes a batch. Not created: it was there before.
select holdfast.create_batch($1::text::uuid, $2::text, $3::text, $4::text::jsonb, $5::text::boolean) as created

-- name: joinBatch
-- Makes jobs of this transaction members of a batch. Answers with how many were not yet.
select holdfast.join_batch($1::text::uuid, $2::uuid[], $3::text, $4::text::boolean) as joined

-- name: closeBatch
-- Lets a batch end with its last member. Not closed: it was before.
select holdfast.close_batch($1::text::uuid, $2::text) as closed

-- name: cancelBatch
-- Begins to cancel what is live of a batch.
select holdfast.cancel_batch($1::text::uuid, $2::text, holdfast.actor($3::text, $4::text, $5::text)) as was

-- name: cancelOn
-- Cancels the next members of a batch that is being cancelled. Answers with whether there are more.
select holdfast.cancel_on($1::text::uuid) as more

-- name: deadMembers
-- The dead members of a batch after $2.
select m::text as id from holdfast.dead_members($1::text::uuid, $2::text::uuid, $3::text::integer) as m

-- name: auditBatch
-- A line in the audit log about what was done to a batch.
select holdfast.audit($1::text, $2::text, null, $3::text::jsonb, holdfast.actor($4::text, $5::text, $6::text))

-- name: batchProgress
-- One batch with its counts, by its row and what was not added up yet.
select b.id::text, b.name, b.owner, b.status, b.round, b.open, b.total, b.live, b.completed, b.dead, b.cancelled, b.discarded,
       date_part('epoch', b.created_at) * 1000 as created_at, date_part('epoch', b.finished_at) * 1000 as finished_at,
       b.cancelled_by, b.cancelled_why,
       (select coalesce(jsonb_agg(jsonb_build_object('round', c.round, 'kind', c.kind, 'job', c.job_id) order by c.round, c.kind), '[]')
        from holdfast.batch_callbacks as c where c.batch_id = b.id) as callbacks
from holdfast.batch_progress as b where b.id = $1::text::uuid and ($2::text is null or b.owner = $2::text)

-- name: batchOfJob
-- The batch that a job is a member or a callback of.
select g.id::text from (
  select m.group_id as id from holdfast.members as m where m.job_id = $1::text::uuid and m.kind = 'batch'
  union all
  select c.batch_id from holdfast.batch_callbacks as c where c.job_id = $1::text::uuid
) as g

-- name: listBatches
-- One page, newest first, of one service or of all, by status, name and time.
select b.id::text, b.name, b.owner, b.status, b.round, b.open, b.total, b.live, b.completed, b.dead, b.cancelled, b.discarded,
       date_part('epoch', b.created_at) * 1000 as created_at, date_part('epoch', b.finished_at) * 1000 as finished_at,
       b.cancelled_by, b.cancelled_why, '[]'::jsonb as callbacks
from (
  select l.id from holdfast.batches as l
  where ($1::text is null or l.owner = $1::text) and l.id < coalesce($2::text::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    and ($4::text is null or l.status = $4::text) and ($5::text is null or l.name = $5::text)
    and ($6::text is null or l.created_at >= $6::text::timestamptz) and ($7::text is null or l.created_at < $7::text::timestamptz)
  order by l.id desc limit $3::text::integer
) as page join holdfast.batch_progress as b on b.id = page.id order by b.id desc
