-- Signals to jobs. Each is stored first and delivered by the wait that takes it (wait_step); who stores it only has to make sure that a job
-- that waits already is woken, and never waits for a lock to do so.

-- Sends a signal from psql, a trigger or any language, in the caller's transaction:
--   select holdfast.signal('…', 'approved', '{"by": "ada"}');
create or replace function holdfast.signal(job uuid, name text, payload jsonb default 'null') returns void
language sql volatile
security definer set search_path = holdfast, pg_temp
as $$
  select holdfast.send_signal(job, name, coalesce(payload, 'null')::text, null)
$$;

-- Stores a signal for a job that has not ended. A job that is being cancelled has. p_actor: null: the database's user. What comes over HTTP
-- stands in the audit log; what a program sends, of which there may be thousands, only with its job.
create or replace function holdfast.send_signal(p_job uuid, p_name text, p_payload text, p_actor holdfast.actor) returns void
language plpgsql
set enable_seqscan = off set jit = off
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_status text := holdfast.status_of(p_job);
begin
  if v_status is null then
    raise exception 'no job % is kept', p_job using errcode = 'HF404', detail = 'id';
  elsif v_status in ('completed', 'cancelled', 'dead', 'discarded')
        or exists (select from holdfast.cancellations as c where c.job_id = p_job) then
    raise exception 'job % has ended (%), and takes no signals', p_job, case when v_status = 'processing' then 'cancelled' else v_status end
      using errcode = 'HF006';
  end if;
  if length(p_name) not between 1 and 200 or p_name like '%#%' then
    raise exception 'a signal has a name of 1 to 200 characters without "#"' using errcode = 'HF002';
  end if;
  if octet_length(p_payload) > 65536 then
    raise exception 'the payload has % bytes; at most 65536 are stored', octet_length(p_payload) using errcode = 'HF003';
  end if;
  perform holdfast.refuse_plaintext(array(select t.name from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
                                          where b.id = p_job), array[p_payload]);
  insert into holdfast.signals (job_id, name, payload, actor, at)
  values (p_job, p_name, p_payload::json, coalesce(p_actor.name, session_user), holdfast.now());
  if p_actor.origin is not null then
    perform holdfast.audit('signal_job', p_job::text, null, jsonb_build_object('signal', p_name), p_actor);
  end if;
end $$;

-- What a sender has to know of a job: its type, and whether what is stored of it is encrypted. No row: it is not kept.
create or replace function holdfast.type_of_job(p_job uuid) returns table (type text, encrypted boolean)
language sql stable
security definer set search_path = holdfast, pg_temp
as $$
  select t.name, t.encrypted from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where b.id = p_job
$$;

-- Whether a signal is there that a wait of this job has not taken yet.
create or replace function holdfast.is_signalled(p_job uuid) returns boolean language sql stable as $$
  select exists (
    select from holdfast.steps as s
    join holdfast.signals as g on g.job_id = s.job_id and g.name = split_part(s.name, '#', 1) and g.delivered is null
    where s.job_id = p_job and s.state = 'waiting' and s.kind = 'signal')
$$;

-- Wakes jobs that wait for a signal that has come, where nobody works on them this very moment; those whose signal stays unsure are looked at
-- by the next tick. Of a job that runs, the row is locked until this transaction ends: a settle that is about to block it waits for that, and
-- then sees the signal.
create or replace function holdfast.wake_signalled(p_jobs uuid[]) returns void
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  v_job uuid;
  v_place text;
  v_sure boolean;
begin
  for v_job in select distinct unnest(p_jobs) order by 1 loop
    v_place := (select w.place from holdfast.whereabouts(v_job) as w);
    -- One that has ended, or was cancelled, waits for nothing.
    v_sure := v_place is null or v_place = 'stopping' or holdfast.lock_place(v_job, v_place, true, false);
    if v_sure and v_place = 'waiting' and holdfast.is_signalled(v_job)
       and exists (select from holdfast.waiting as w where w.job_id = v_job and w.status = 'blocked') then
      perform holdfast.make_ready(array[v_job], holdfast.now(), true);
    end if;
    update holdfast.signals as g set unsure = not v_sure where g.job_id = v_job and g.delivered is null and g.unsure = v_sure;
    if not v_sure then
      perform holdfast.wake_lanes(array(select t.lane_id from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id where b.id = v_job), true);
    end if;
  end loop;
end $$;

-- When a signal is about to be committed. Locking the job earlier would let a producer's long transaction hold up a worker's settling. With
-- the rights of its owner, as check_leader.
create or replace function holdfast.check_signal() returns trigger
language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
begin
  perform holdfast.wake_signalled(array[new.job_id]);
  return null;
end $$;

do $$ begin
  if not exists (select from pg_trigger where tgname = 'check_signal' and tgrelid = 'holdfast.signals'::regclass) then
    create constraint trigger check_signal after insert on holdfast.signals
      deferrable initially deferred for each row execute function holdfast.check_signal();
  end if;
end $$;
