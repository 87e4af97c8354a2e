-- Jobs that belong together: batches and executions. Whoever ends a member adds a row to group_changes, in the transaction that ends it;
-- advance_groups adds the rows up and does what follows for the group. A worker calls it right after a settle that wrote such rows, and tick
-- calls it for what was left: a killed worker costs time and never a callback.

-- Records the ends of those of these jobs that are members and do not live any more. A cancelled job whose handler may still be at work is recorded
-- when that has ended. One of which nothing is kept by then was cancelled and forgotten.
create or replace function holdfast.record_ends(p_jobs uuid[], p_became text) returns boolean language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  with ended as materialized (
    select m.group_id, m.kind, m.job_id, coalesce(p_became, holdfast.status_of(m.job_id), 'cancelled') as became
    from holdfast.members as m where m.job_id = any (p_jobs)
  )
  insert into holdfast.group_changes (group_id, job_id, was, became, jobs)
  select e.group_id, null, 'live', e.became, count(*) from ended as e
  where e.kind = 'batch' and e.became in ('completed', 'dead', 'cancelled', 'discarded') group by e.group_id, e.became
  union all
  select e.group_id, e.job_id, 'live', e.became, 1 from ended as e
  where e.kind <> 'batch' and e.became in ('completed', 'dead', 'cancelled', 'discarded');
  return found;
end $$;

-- Records that those of these jobs that are members went from one status to another.
create or replace function holdfast.record_changes(p_jobs uuid[], p_was text, p_became text) returns void language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  insert into holdfast.group_changes (group_id, job_id, was, became, jobs)
  select m.group_id, case when m.kind <> 'batch' then m.job_id end, p_was, p_became, count(*)
  from holdfast.members as m where m.job_id = any (p_jobs) group by m.group_id, case when m.kind <> 'batch' then m.job_id end
$$;

-- Makes sure that a group is open and stays so until this transaction ends. Waits only for somebody who is just ending the group.
create or replace function holdfast.hold_open(p_group uuid, p_kind text) returns void language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  loop
    perform from holdfast.open_groups as g where g.group_id = p_group for share;
    exit when found;
    -- Locked by the insert itself; where somebody else inserts it at the same time, it is looked for again.
    insert into holdfast.open_groups (group_id, kind) values (p_group, p_kind) on conflict do nothing;
    exit when found;
  end loop;
end $$;

-- Closes groups that somebody left open who revived a member after the end: the revival was undone, or its group was swept before it committed. While one
-- group is open, every settle pays for it.
create or replace function holdfast.close_orphans(p_limit integer) returns void language sql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  delete from holdfast.open_groups as g where g.group_id in (
    select o.group_id from holdfast.open_groups as o
    where case o.kind when 'batch' then not exists (select from holdfast.batches as b where b.id = o.group_id)
                      else not exists (select from holdfast.executions as e where e.id = o.group_id and (e.status = 'running' or e.started > 0)) end
    limit p_limit for update skip locked)
$$;

-- The groups that have something to add up or to look at again; a hundred at a time. Those that a tick has set aside are none of the hundred: else a hundred
-- batches whose callbacks are refused would keep every other group from going on.
create or replace function holdfast.groups_to_advance() returns uuid[] language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
declare
  v_aside constant uuid[] := holdfast.passed_over('groups')::uuid[];
begin
  return array(
    with recursive changed (id) as (
      (select c.group_id from holdfast.group_changes as c order by c.group_id limit 1)
      union all
      select (select c.group_id from holdfast.group_changes as c where c.group_id > n.id order by c.group_id limit 1)
      from changed as n where n.id is not null
    )
    select g.id from (
      (select n.id from changed as n where n.id is not null and n.id <> all (v_aside) limit 100)
      union
      (select b.id from holdfast.batches as b where b.look_again and b.id <> all (v_aside) limit 100)
      union
      (select e.id from holdfast.executions as e where e.look_again and e.id <> all (v_aside) limit 100)
    ) as g);
end $$;

-- Advances these groups, each by the function of its kind. Returns how many of them somebody else is advancing at this moment, who may not have
-- seen the latest rows.
create or replace function holdfast.advance_groups(p_groups uuid[]) returns integer language plpgsql as $$
declare
  v_group uuid;
  v_left integer := 0;
begin
  foreach v_group in array p_groups loop
    if not holdfast.advance_group(v_group) then
      v_left := v_left + 1;
    end if;
  end loop;
  return v_left;
end $$;

-- The one place that knows the kinds. The function of a kind locks the group's own row (skip locked; false: somebody else has it), takes the group's rows
-- out of group_changes, and does what follows. A group that is no longer kept leaves nothing to do.
create or replace function holdfast.advance_group(p_group uuid) returns boolean language plpgsql
set enable_seqscan = off set jit = off
as $$
begin
  if exists (select from holdfast.batches as b where b.id = p_group) then
    return holdfast.advance_batch(p_group);
  elsif exists (select from holdfast.executions as e where e.id = p_group) then
    return holdfast.advance_execution(p_group);
  end if;
  delete from holdfast.group_changes as c where c.group_id = p_group;
  return true;
end $$;
