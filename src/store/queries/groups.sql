-- name: advanceGroups
-- Adds up what became of members of groups, and does what follows. Answers with how many groups somebody else was just advancing.
-- A group that a tick has set aside fails alone there, and not all others with it here.
select holdfast.advance_groups(holdfast.groups_to_advance()) as left
