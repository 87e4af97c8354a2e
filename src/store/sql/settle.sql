-- name: settleJobs
-- Ends attempts. Touches nothing unless that very attempt still holds its lease; history is written in the same statement.
-- Answers with the attempts that held no lease any more, and why.
select settle_jobs::text as id, holdfast.why_lost(settle_jobs, $9::text::integer) as why
from holdfast.settle_jobs($1::uuid[], $2::bigint[], $3::text[], $4::holdfast.outcome[], $5::text[], $6::float8[], $7::float8[],
                          $8::float8[], $9::text::integer, $10::bigint[], $11::text[])
