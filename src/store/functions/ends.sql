-- What follows from the end of a job for others: jobs that wait behind it start, processes that wait for it are told, a reaction to its
-- death is enqueued, and its group hears of it.

-- Called wherever jobs have ended or may have: by settle, rescue, cancel, the end of an approval. p_became: how all of them ended; null: where they do not
-- live any more, by what is kept of them. Returns whether a group has something to add up, so that the caller can do that at once.
create or replace function holdfast.after_end(p_jobs uuid[], p_became text default null) returns boolean language plpgsql as $$
begin
  perform holdfast.start_followers(p_jobs);
  perform holdfast.tell_waiters(p_jobs);
  if p_became is null or p_became = 'dead' then
    perform holdfast.react_to_deaths(p_jobs);
  end if;
  -- Almost always no group is open; then this one look is all it costs.
  if not exists (select from holdfast.open_groups) then
    return false;
  end if;
  return holdfast.record_ends(p_jobs, p_became);
end $$;

-- Called for jobs that had ended and are live again: dead ones that were replayed, cancelled ones that were resumed. p_was: what they were. Their
-- group is open until this transaction ends, and after it.
create or replace function holdfast.after_revival(p_jobs uuid[], p_was text) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
declare
  v_group record;
begin
  for v_group in
    select m.group_id, m.kind from holdfast.members as m where m.job_id = any (p_jobs) group by m.group_id, m.kind order by m.group_id
  loop
    perform holdfast.hold_open(v_group.group_id, v_group.kind);
  end loop;
  perform holdfast.record_events(p_jobs, case p_was when 'dead' then 'replayed' else 'resumed' end);
  perform holdfast.record_changes(p_jobs, p_was, 'live');
end $$;
