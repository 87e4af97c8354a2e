-- name: enqueueJobs
-- Stores jobs, all or none, in the transaction it runs in. Answers with the indexes (from 1) of those that were not simply
-- created, and with what happened instead. The payloads are one text with a character between them that JSON cannot hold: most
-- of them is quotes, each of which an array would want escaped, which costs the producer more than all the rest.
select ordinal, job_id::text as id, what
from holdfast.enqueue_jobs($1::uuid[], $2::text[], string_to_array($3::text, chr(31)), $4::smallint[], $5::smallint[], $6::float8[], $7::timestamptz[],
       $8::text[], $9::text[], $10::text::boolean, $11::text::boolean, $12::text::boolean, $13::text[]::jsonb[], $14::text[], $16::text[], $15::text, $17::text[],
       $18::timestamptz[], $19::float8[], $20::smallint[], $21::text[], $22::text[]::jsonb[], $23::text::boolean)

-- name: enqueueJob
-- The same for one new job that is due at once. Answers with null, or what happened instead and the id that stands.
select holdfast.enqueue_job($1::uuid, $2::text, $3::text, $4::text::smallint, $5::text::smallint, $6::text, $7::text::boolean,
                            $8::text, $9::text, $10::text::smallint, $11::text, $12::text, $13::text, $14::text::boolean) as stands

-- name: takeKeys
-- Takes the idempotency keys of jobs that the same transaction is about to store. Answers with the indexes (from 1) of those
-- whose key another job has.
select ordinal, job_id::text as id, 'existing' as what from holdfast.take_keys($1::uuid[], $2::text[], $3::text[], $4::text)

-- name: refuseUnfit
-- Refuses the payload of one job if it does not fit the stored schema of its type.
select holdfast.refuse_unfit(array[$1::uuid], array[$2::text], array[$3::text], null)::text as done
