-- name: advanceGroups
-- Adds up what became of members of groups, and does what follows. Answers with how many groups somebody else was just advancing.
select holdfast.advance_groups(holdfast.groups_to_advance()) as left
