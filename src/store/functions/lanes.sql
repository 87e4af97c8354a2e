-- Small functions about lanes and leases that tables and several others use.

-- The lanes a type has left when it goes from one to another.
create or replace function holdfast.lanes_left(p_left smallint[], p_from smallint, p_to smallint) returns smallint[]
language sql immutable parallel safe
as $$ select array_remove(array_remove(p_left, p_from) || p_from, p_to) $$;

-- What tells the leases of one job apart: four bytes, which fit into what the row leaves empty before the next one begins.
-- Two leases with the same mark lie two billion claims apart.
create or replace function holdfast.lease_mark(p_lease bigint) returns integer language sql immutable
as $$ select (p_lease % 2147483647)::integer $$;

-- Whether this transaction may see types and lanes as they were long ago: it keeps one snapshot, and has for seconds. bring_strays
-- forgets a lane that a type has left once no younger transaction can still put a job there.
create or replace function holdfast.may_be_behind() returns boolean language sql volatile
as $$ select current_setting('transaction_isolation') <> 'read committed' and clock_timestamp() - transaction_timestamp() > interval '5 seconds' $$;
