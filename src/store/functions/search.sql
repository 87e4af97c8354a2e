-- How lists of jobs are searched: newest first by id, which never changes, so that a cursor stays where it is whatever is written meanwhile.
-- A status is walked where jobs of that status stand. Where the jobs that are looked at do not fit, the search jumps to the next one that an
-- index of bodies has for its type, key, tag or owner: so a rare one costs a jump and not a walk over all others.

-- The next p_limit jobs of a status (of any; 'live': that have not ended; 'failed or dead') that were made before p_before. Those that have just moved on are among them: the caller looks
-- at each, and at its owner, which is only looked up here where most jobs have the status. Planned for the status that is asked for, because each has an index of its own.
create or replace function holdfast.next_of_status(p_status text, p_owner text, p_before uuid, p_limit integer) returns uuid[]
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_outcome constant holdfast.outcome := case when p_status in ('completed', 'cancelled', 'discarded') then p_status end;
begin
  case
    when p_owner is not null and (p_status is null or p_status = 'completed') then
      return array(select b.id from holdfast.bodies as b where b.owner = p_owner and b.id < p_before order by b.id desc limit p_limit);
    when p_status is null then
      return array(select b.id from holdfast.bodies as b where b.id < p_before order by b.id desc limit p_limit);
    when p_status = 'processing' then
      -- There are never more than the fleet has slots for. A cancelled one runs until its handler has stopped.
      return array(
        select r.job_id from (
          select q.job_id from holdfast.leases as e cross join unnest(e.jobs) as j (id)
          join holdfast.queue as q on q.job_id = j.id and q.lease_id = e.id
          union select c.job_id from holdfast.cancellations as c
        ) as r where r.job_id < p_before order by r.job_id desc limit p_limit);
    when p_status = 'pending' then
      return array(select l.job_id from holdfast.live as l where l.place = 'queue' and l.status = 'pending' and l.job_id < p_before
                   order by l.job_id desc limit p_limit);
    when p_status in ('scheduled', 'failed', 'awaiting_approval') then
      return array(select l.job_id from holdfast.live as l where l.place = 'waiting' and l.status = p_status and l.job_id < p_before
                   order by l.job_id desc limit p_limit);
    when p_status = 'blocked' then
      return array(select l.job_id from holdfast.live as l where l.place <> 'queue' and l.status = 'blocked' and l.job_id < p_before
                   order by l.job_id desc limit p_limit);
    when p_status = 'live' then
      return array(select l.job_id from holdfast.live as l where l.job_id < p_before order by l.job_id desc limit p_limit);
    when p_status = 'failed or dead' then
      return array(
        select r.job_id from (
          select l.job_id from holdfast.live as l where l.place = 'waiting' and l.status = 'failed' union all select d.job_id from holdfast.dead_letters as d
        ) as r where r.job_id < p_before order by r.job_id desc limit p_limit);
    when p_status = 'dead' then
      return array(select d.job_id from holdfast.dead_letters as d where d.job_id < p_before order by d.job_id desc limit p_limit);
    else
      return array(select h.job_id from holdfast.history as h where h.outcome = v_outcome and h.job_id < p_before
                   order by h.job_id desc limit p_limit);
  end case;
end $$;

-- The next p_limit jobs of an error group that were made before p_before and may have a status: from the dead letters of the group, from those
-- that wait for a retry, which are few or many of them in the group, and otherwise from its failures. A job can come twice. The caller looks at each.
create or replace function holdfast.next_of_error(p_fingerprint text, p_status text, p_before uuid, p_limit integer) returns uuid[]
language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
set plan_cache_mode = force_custom_plan
as $$
begin
  case
    when p_status in ('failed', 'processing') then
      return holdfast.next_of_status(p_status, null, p_before, p_limit);
    when p_status = 'dead' then
      return array(select d.job_id from holdfast.dead_letters as d where d.error ->> 'fingerprint' = p_fingerprint and d.job_id < p_before
                   order by d.job_id desc limit p_limit);
    when p_status = 'failed or dead' then
      return array(
        select r.job_id from (
          select l.job_id from holdfast.live as l where l.place = 'waiting' and l.status = 'failed'
          union all select d.job_id from holdfast.dead_letters as d where d.error ->> 'fingerprint' = p_fingerprint
        ) as r where r.job_id < p_before order by r.job_id desc limit p_limit);
    else
      return array(
        select r.job_id from (
          select h.job_id from holdfast.history as h where h.error ->> 'fingerprint' = p_fingerprint
          union all select d.job_id from holdfast.dead_letters as d where d.error ->> 'fingerprint' = p_fingerprint
        ) as r where r.job_id < p_before order by r.job_id desc limit p_limit);
  end case;
end $$;

-- Whether a job has a status, or one of those that bulk actions ask for at once.
create or replace function holdfast.has_status(p_job uuid, p_status text) returns boolean language plpgsql stable as $$
declare
  v_is constant text := holdfast.status_of(p_job);
begin
  return coalesce(case p_status when 'live' then v_is not in ('completed', 'cancelled', 'discarded', 'dead')
                                when 'failed or dead' then v_is in ('failed', 'dead') else v_is = p_status end, false);
end $$;

-- When a job ended; null: it has not, or is not kept.
create or replace function holdfast.ended_at(p_job uuid) returns timestamptz
language sql stable
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
  select coalesce(
    (select d.died_at from holdfast.dead_letters as d where d.job_id = p_job limit 1),
    (select h.ended_at from holdfast.history as h
     where h.job_id = p_job and h.outcome in ('completed', 'cancelled', 'discarded') order by h.ended_at desc limit 1))
$$;

-- The newest job before p_before that one index of bodies has for what is asked: of one of these types, with all these tags, this key or owner,
-- all these keys of searchable paths.
-- Null: there is none. Types and tags are looked up a day at a time, the newest first, because their indexes are in no order: at most what
-- one day has of them is read. The index on types knows pages and no rows, and costs an enqueue nothing; p_before is compared as text, so
-- that no plan takes the primary key instead.
create or replace function holdfast.newest_with(
  p_types integer[], p_tags text[], p_key text, p_owner text, p_search bigint[], p_before uuid
) returns uuid
language plpgsql stable
set enable_seqscan = off set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
  v_day text;
  v_of_day text;
  v_newest text;
begin
  if p_key is not null then
    return (select b.id from holdfast.bodies as b where b.concurrency_key = p_key and b.id < p_before order by b.id desc limit 1);
  elsif p_owner is not null then
    return (select b.id from holdfast.bodies as b where b.owner = p_owner and b.id < p_before order by b.id desc limit 1);
  end if;
  for v_day in
    -- The default partition is first: it may have jobs of any day.
    select c.relname from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
    where i.inhparent = 'holdfast.bodies'::regclass order by c.relname desc
  loop
    -- The name of a day has its date: what was made after p_before is not looked at.
    continue when v_day ~ '_[0-9]{8}$' and holdfast.first_id_at(to_date(right(v_day, 8), 'YYYYMMDD')::timestamp at time zone 'UTC') >= p_before;
    if p_tags is not null then
      execute format('select max(b.id::text collate "C") from holdfast.%I as b where b.tags @> $1 and b.id::text collate "C" < $2', v_day)
        into v_of_day using p_tags, p_before::text;
    elsif p_search is not null then
      execute format('select max(b.id::text collate "C") from holdfast.%I as b where b.search_keys @> $1 and b.id::text collate "C" < $2', v_day)
        into v_of_day using p_search, p_before::text;
    else
      execute format('select max(b.id::text collate "C") from holdfast.%I as b where b.type_id = any ($1) and b.id::text collate "C" < $2', v_day)
        into v_of_day using p_types, p_before::text;
    end if;
    v_newest := greatest(v_newest collate "C", v_of_day);
    exit when v_of_day is not null and v_day ~ '_[0-9]{8}$';
  end loop;
  return v_newest::uuid;
end $$;

-- The smallest id that is greater than every id up to p_id.
create or replace function holdfast.id_behind(p_id uuid) returns uuid language sql immutable parallel safe as $$
  select case when right(p_id::text, 4) = 'ffff' then p_id
    else (left(p_id::text, 32) || lpad(to_hex(('x' || right(p_id::text, 4))::bit(16)::integer + 1), 4, '0'))::uuid end
$$;

-- Whether a text stands in what is shown of a job: its keys, tags and error, and its payload where p_readable says that people are shown all of it.
create or replace function holdfast.has_text(p_job uuid, p_text text, p_keys text, p_payload text, p_readable boolean) returns boolean
language sql stable
set enable_seqscan = off set jit = off
as $$
  select strpos(lower(concat_ws(' ', p_keys, case when p_readable then p_payload end)), lower(p_text)) > 0
    or coalesce((select strpos(lower(concat_ws(': ', h.error ->> 'name', h.error ->> 'message')), lower(p_text)) > 0
                 from holdfast.history as h where h.job_id = p_job and h.error is not null order by h.ended_at desc limit 1), false)
$$;

-- One page of jobs, newest first by id. Looks at no more than p_look jobs, whatever the filter: a page can be shorter than
-- asked for, or empty, and still have a next one, and no question costs more than that. A field that is null does not matter.
-- What is read of payloads, to search them or to show them, counts in bytes as they are written out: two thousand of the largest
-- kept a core busy for five seconds. The page ends with the job that reaches p_bytes.
-- Ids are made by producers' clocks; up to a day ahead or behind ours is allowed for.
-- p_readable: the types whose payloads a text is looked for in.
create or replace function holdfast.list_jobs(
  p_owner text, p_type text, p_status text, p_created_after timestamptz, p_created_before timestamptz, p_payload jsonb,
  p_before uuid, p_limit integer, p_look integer, p_bytes integer, p_tags text[],
  p_lane text, p_concurrency_key text, p_text text, p_readable text[], p_fingerprint text,
  p_batch uuid, p_ended_after timestamptz, p_ended_before timestamptz, out ids uuid[], out next uuid
) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off
as $$
declare
  v_type constant integer := case when p_type is not null then holdfast.type_named(p_type) end;
  v_lane constant smallint := case when p_lane is not null then holdfast.lane_named(p_lane) end;
  v_readable constant integer[] := array(select t.id from holdfast.types as t where t.name = any (p_readable));
  -- Which types' jobs can be meant. A live job can still stand in a lane that its type has left.
  v_types constant integer[] := case
    when v_type is not null then array[v_type]
    when v_lane is not null then array(
      select t.id from holdfast.types as t
      where t.lane_id = v_lane or v_lane = any (t.past_lanes) and coalesce(p_status, 'live') not in ('completed', 'cancelled', 'discarded', 'dead')) end;
  -- What its payload has to have where the type calls it searchable, and from which job on that is known.
  v_search bigint[];
  v_search_from uuid;
  v_first constant uuid := coalesce(holdfast.first_id_at(p_created_after - interval '1 day'), '00000000-0000-0000-0000-000000000000');
  -- What has ended before a time was made before it.
  v_before uuid := least(p_before, holdfast.first_id_at(least(p_created_before, p_ended_before) + interval '1 day'),
                         'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid);
  v_ended constant boolean := p_ended_after is not null or p_ended_before is not null;
  -- How often the days of history may still be looked at: a look can read a million rows.
  v_by_end integer := case when v_ended then 3 else 0 end;
  v_portion integer := 100;
  v_found integer := 0;
  v_looked integer := 0;
  v_bytes bigint := 0;
  v_fits boolean;
  v_any boolean;
  v_ids uuid[];
  v_id uuid;
  v_to uuid;
  v_job record;
begin
  if v_type is not null and p_payload is not null then
    select holdfast.search_keys(t.searchable, p_payload), t.searchable_from into v_search, v_search_from from holdfast.types as t where t.id = v_type;
  end if;
  ids := '{}';
  loop
    v_portion := least(v_portion, p_look - v_looked);
    v_ids := case
      when p_batch is not null then array(select m.job_id from holdfast.members as m where m.group_id = p_batch and m.job_id < v_before
                                          order by m.job_id desc limit v_portion)
      when p_fingerprint is not null then holdfast.next_of_error(p_fingerprint, p_status, v_before, v_portion)
      else holdfast.next_of_status(p_status, p_owner, v_before, v_portion) end;
    v_any := false;
    foreach v_id in array v_ids loop
      if v_id < v_first then
        return;
      end if;
      v_looked := v_looked + 1;
      select b.id, b.type_id, b.created_at, b.payload, b.tags, b.concurrency_key, b.idempotency_key, b.owner into v_job
      from holdfast.bodies as b where b.id = v_id;
      v_fits := v_job.id is not null and (v_type is null or v_job.type_id = v_type) and (p_tags is null or coalesce(v_job.tags @> p_tags, false))
        and (p_owner is null or coalesce(v_job.owner = p_owner, false))
        and (p_concurrency_key is null or coalesce(v_job.concurrency_key = p_concurrency_key, false))
        and (p_created_after is null or v_job.created_at >= p_created_after)
        and (p_created_before is null or v_job.created_at < p_created_before)
        -- A job that has ended stands in no lane; it counts for that of its type, as it is shown.
        and (v_lane is null
             or v_lane = coalesce((select l.lane_id from holdfast.live as l where l.job_id = v_job.id limit 1),
                                  (select t.lane_id from holdfast.types as t where t.id = v_job.type_id)))
        and (not v_ended or coalesce(holdfast.ended_at(v_id) >= coalesce(p_ended_after, '-infinity')
                                     and holdfast.ended_at(v_id) < coalesce(p_ended_before, 'infinity'), false))
        and (p_fingerprint is null or holdfast.fingerprint_of(v_id) is not distinct from p_fingerprint)
        and (p_payload is not null or p_text is not null or p_status is null or holdfast.has_status(v_id, p_status))
        and v_id is distinct from ids[v_found];
      if v_fits then
        v_any := v_any or v_search is null or v_before <= v_search_from;
        v_bytes := v_bytes + octet_length(v_job.payload::text);
        v_fits := (p_payload is null or v_job.payload::jsonb @> p_payload)
          and (p_text is null or holdfast.has_text(v_id, p_text, concat_ws(' ', v_id, v_job.idempotency_key, v_job.concurrency_key,
                 array_to_string(v_job.tags, ' '), v_job.owner), v_job.payload::text, v_job.type_id = any (v_readable)))
          and ((p_payload is null and p_text is null) or p_status is null or holdfast.has_status(v_id, p_status));
      end if;
      if v_fits then
        v_any := true;
        ids := ids || v_id;
        v_found := v_found + 1;
      end if;
      if v_found = p_limit or v_looked >= p_look or v_bytes >= p_bytes then
        next := v_id;
        return;
      end if;
    end loop;
    exit when cardinality(v_ids) < v_portion;
    v_before := v_id;
    if v_any then
      v_portion := 500;
    else
      -- A whole portion in vain: go where the indexes know of one, and begin with a small portion again. Each is asked from where the last one led.
      v_portion := 100;
      for v_by in 1..6 loop
        continue when (array[p_concurrency_key is null, p_owner is null, p_tags is null, v_by_end = 0, v_search is null or v_before <= v_search_from,
                             v_types is null or v_search is not null and v_before > v_search_from])[v_by];
        v_to := case v_by
          when 4 then holdfast.newest_ended(p_ended_after, p_ended_before, v_before)
          when 5 then greatest(v_search_from, holdfast.newest_with(null, null, null, null, v_search, v_before))
          else holdfast.newest_with(case v_by when 6 then v_types end, case v_by when 3 then p_tags end,
                                    case v_by when 1 then p_concurrency_key end, case v_by when 2 then p_owner end, null, v_before) end;
        if v_to is null then
          return;
        end if;
        v_by_end := v_by_end - (v_by = 4)::integer;
        v_before := least(v_before, holdfast.id_behind(v_to));
      end loop;
    end if;
  end loop;
end $$;
