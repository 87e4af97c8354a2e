-- Nothing goes round for ever unseen: a job that its handler puts off again and again, or that workers hand back again and again, spends no
-- attempt, so nothing else would end it.

-- Of attempts that end with a snooze or are handed back, those whose job has had as many of that as it may end dead instead. The arrays are
-- those of settle_jobs. A sleep or a wait for a signal is no snooze: it is a step, which is stored, so the job gets on. Jobs of
-- Holdfast itself have work of any length. As far back as history is kept.
create or replace function holdfast.end_loops(inout p_jobs uuid[], inout p_moves text[], inout p_outcomes holdfast.outcome[], inout p_errors text[])
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_nth integer;
  v_times bigint;
  v_most bigint;
begin
  for v_nth in select n from generate_subscripts(p_moves, 1) as n where p_moves[n] in ('snooze', 'hand_back') loop
    v_most := holdfast.setting(case p_moves[v_nth] when 'snooze' then 'max_snoozes' else 'max_hand_backs' end);
    select count(*) into v_times from (
      select from holdfast.history as h
      where h.job_id = p_jobs[v_nth] and h.outcome = case p_moves[v_nth] when 'snooze' then 'snoozed' else 'handed_back' end::holdfast.outcome
      limit v_most + 1000) as before;
    continue when v_times < v_most;
    if p_moves[v_nth] = 'snooze' then
      v_times := v_times - (select count(*) from holdfast.steps as s where s.job_id = p_jobs[v_nth] and s.kind in ('sleep', 'signal'));
    end if;
    continue when v_times < v_most or exists (
      select from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where b.id = p_jobs[v_nth] and t.name like 'holdfast:%');
    p_errors[v_nth] := jsonb_build_object(
      'name', case p_moves[v_nth] when 'snooze' then 'SnoozedTooOften' else 'HandedBackTooOften' end,
      'message', format(case p_moves[v_nth] when 'snooze' then 'its handler has put it off %s times, which is the most that the setting max_snoozes allows'
                        else 'workers have handed it back %s times, which is the most that the setting max_hand_backs allows' end, v_times))::text;
    p_outcomes[v_nth] := 'failed';
    p_moves[v_nth] := 'die';
  end loop;
end $$;

-- How often a job was put off by its handler and handed back by workers, as far back as history is kept. Its sleeps and waits do not count, as in end_loops.
create or replace function holdfast.rounds_of(p_job uuid, out snoozes bigint, out hand_backs bigint) language sql stable
set enable_seqscan = off set jit = off
as $$
  select greatest(0, count(*) filter (where h.outcome = 'snoozed')
                     - (select count(*) from holdfast.steps as s where s.job_id = p_job and s.kind in ('sleep', 'signal'))),
         count(*) filter (where h.outcome = 'handed_back')
  from holdfast.history as h where h.job_id = p_job
$$;

-- Until when a lease of a remote worker may be renewed: its heartbeats say that the process lives, not that the handler ends. As long as all
-- of its jobs may take one after the other, because nobody here knows in which order they run, and the grace.
create or replace function holdfast.remote_lease_ends(p_lease holdfast.leases) returns timestamptz language sql stable
set enable_seqscan = off set jit = off
as $$
  select p_lease.claimed_at + holdfast.setting_time('remote_grace') + coalesce(sum(t.timeout_ms), 0) * interval '1 millisecond'
  from unnest(p_lease.jobs) as j (id) left join holdfast.bodies as b on b.id = j.id left join holdfast.types as t on t.id = b.type_id
$$;
