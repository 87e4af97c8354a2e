-- name: makeDays
-- Makes the partitions of today and the days ahead where they are missing. Writes nothing where none is.
select holdfast.make_days() as made
