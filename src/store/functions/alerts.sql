-- Alerts: rules that say what trouble is, which of it there is now, and the targets that are notified of it.
-- A target is notified by a job like any other, enqueued in the transaction that finds the trouble: so it is tried again, and seen if it fails.

-- The rules that hold at this look, each with what it is about and how much it is. p_now: when the look began.
create or replace function holdfast.troubles(p_now timestamptz) returns table (rule text, subject text, value double precision)
language sql volatile
set jit = off
as $$
  select r.name, s.subject, s.value::double precision
  from holdfast.alert_rules as r
  cross join lateral (
    select t.name as subject, m.value - m.before as value
    from holdfast.alert_marks as m join holdfast.types as t on m.what = 'dead ' || t.name
    where r.kind = 'dead_letters' and m.at = p_now and m.value - m.before > r.threshold and (r.type is null or r.type = t.name)
    union all
    select t.name, 1
    from holdfast.gates as g join holdfast.types as t on t.id = g.type_id
    where r.kind = 'breaker' and (g.breaker_hold = 'open' or (g.breaker_opened_at is not null and g.breaker_hold = 'auto'))
      and (r.type is null or r.type = t.name)
    union all
    select 'the dependency ' || d.name, 1
    from holdfast.gates as g join holdfast.dependencies as d on d.id = g.type_id
    where r.kind = 'breaker' and (g.breaker_hold = 'open' or (g.breaker_opened_at is not null and g.breaker_hold = 'auto'))
      and (r.type is null or exists (select from holdfast.types as t where t.name = r.type and t.id = any (holdfast.users_of(d.id))))
    union all
    select coalesce(r.type, ''), sum(d.waiting)
    from holdfast.depths as d join holdfast.types as t on t.id = d.type_id
    where r.kind = 'depth' and d.priority >= r.min_priority and (r.type is null or r.type = t.name) having sum(d.waiting) > r.threshold
    union all
    select 'priority ' || d.priority, extract(epoch from holdfast.now() - min(d.oldest_at))
    from holdfast.depths as d join holdfast.types as t on t.id = d.type_id
    where r.kind = 'oldest' and d.priority >= r.min_priority and (r.type is null or r.type = t.name)
    group by d.priority having extract(epoch from holdfast.now() - min(d.oldest_at)) > r.threshold
    union all
    select '', m.value - m.before from holdfast.alert_marks as m
    where r.kind = 'enqueue_errors' and m.at = p_now and m.what = 'refused' and m.value - m.before > r.threshold
    union all
    -- Of a few requests one is a great share.
    select '', e.unserved / e.asked from (
      select holdfast.grown('unserved', p_now - interval '5 minutes')::double precision as unserved, holdfast.grown('asked', p_now - interval '5 minutes') as asked
      where r.kind = 'enqueue_error_rate'
    ) as e where e.asked >= 20 and e.unserved / e.asked > r.threshold
    union all
    select t.name, holdfast.grown(case r.kind when 'rescues' then 'lost ' else 'late ' end || t.name, p_now - interval '10 minutes')
    from holdfast.types as t
    where r.kind in ('rescues', 'late_results') and (r.type is null or r.type = t.name)
      and holdfast.grown(case r.kind when 'rescues' then 'lost ' else 'late ' end || t.name, p_now - interval '10 minutes') > r.threshold
    union all
    select '', g.restarts from (select holdfast.grown('restarts', p_now - interval '10 minutes') as restarts where r.kind = 'restarts') as g
    where g.restarts > r.threshold
    union all
    select '', extract(epoch from holdfast.now() - holdfast.retention_last_ran())
    where r.kind = 'retention' and extract(epoch from holdfast.now() - holdfast.retention_last_ran()) > r.threshold
    union all
    select '', m.value - m.before from holdfast.alert_marks as m
    where r.kind = 'drift' and m.at = p_now and m.what = 'drift' and m.value - m.before > r.threshold
    union all
    select d.family, count(*) from holdfast.missing_partitions(1) as d
    where r.kind = 'missing_partitions' group by d.family having count(*) > r.threshold
    union all
    select '', u.usage from (select pg_notification_queue_usage() as usage) as u where r.kind = 'notify_queue' and u.usage > r.threshold
    union all
    select d.subject, d.value from holdfast.trends(r, p_now) as d where r.kind in ('slow_starts', 'slow_runs', 'depth_growth', 'enqueue_spike')
  ) as s
  where r.enabled
$$;

-- Notifies every target of the rule that trouble has begun, or is over. Trouble with the notifying jobs themselves is announced to nobody, because a
-- receiver that is away would be notified of that for ever; lists of alerts show it. Dead letters stay after the trouble is over, so its end says
-- how many there are, counted now and up to a thousand, because the count that metrics keep may be older than the last of them.
create or replace function holdfast.announce(p_state text, p_rule text, p_subject text, p_value double precision, p_since timestamptz)
returns void language plpgsql as $$
declare
  v_left integer;
begin
  if p_subject = 'holdfast:alert' then
    return;
  end if;
  if p_state = 'resolved' and exists (select from holdfast.alert_rules as r where r.name = p_rule and r.kind = 'dead_letters') then
    v_left := (select count(*) from (
      select from holdfast.dead_letters as d where d.type_id = (select t.id from holdfast.types as t where t.name = p_subject) limit 1001
    ) as d);
  end if;
  perform holdfast.enqueue('holdfast:alert', jsonb_build_object(
    'target', t.id, 'state', p_state, 'rule', r.name, 'kind', r.kind, 'threshold', r.threshold, 'subject', p_subject,
    'value', p_value, 'since', p_since, 'at', holdfast.now(), 'enabled', r.enabled, 'left', v_left, 'severity', r.severity))
  from holdfast.alert_targets as t join holdfast.alert_rules as r on r.name = p_rule
  where t.rules is null or p_rule = any (t.rules)
  order by t.id;
end $$;

-- Looks for trouble, unless somebody did within p_every. What has lasted as long as its rule says and what is over is announced, once each,
-- in this transaction; what goes on is not, except that dead letters which are still growing are announced again, once a minute. What was
-- found while its rule is silenced is announced when that ends, if it still goes on. Returns what changed.
create or replace function holdfast.evaluate_alerts(p_every interval)
returns table (state text, rule text, subject text, value double precision)
language plpgsql
set jit = off
as $$
declare
  v_now timestamptz := holdfast.now();
  v_trouble record;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast.alerts', 0)) then
    return;
  end if;
  update holdfast.alerts_looked as l set at = v_now where l.at <= v_now - p_every;
  if not found then
    return;
  end if;
  perform holdfast.mark_counters(v_now);
  for v_trouble in select t.*, r.kind from holdfast.troubles(v_now) as t join holdfast.alert_rules as r on r.name = t.rule loop
    insert into holdfast.alerts as a (rule, subject, since, seen_at, value)
    values (v_trouble.rule, v_trouble.subject, v_now, v_now, v_trouble.value)
    on conflict on constraint alerts_pkey do update set seen_at = v_now, value = v_trouble.value
      + case when v_trouble.kind in ('dead_letters', 'enqueue_errors', 'drift') then a.value else 0 end;
  end loop;
  return query
    update holdfast.alerts as a set fired_at = v_now from holdfast.alert_rules as r
    where r.name = a.rule and a.fired_at is null and a.since <= v_now - r.lasts and a.seen_at = v_now
    returning 'firing', a.rule, a.subject, a.value;
  for v_trouble in
    delete from holdfast.alerts as a using holdfast.alert_rules as r
    where r.name = a.rule and a.seen_at < v_now and (a.seen_at <= v_now - r.hold or not r.enabled)
    returning a.rule, a.subject, a.value, a.since, a.fired_at, a.told_at
  loop
    if v_trouble.told_at is not null then
      perform holdfast.announce('resolved', v_trouble.rule, v_trouble.subject, v_trouble.value, v_trouble.since);
    end if;
    if v_trouble.fired_at is not null then
      return query select 'resolved', v_trouble.rule, v_trouble.subject, v_trouble.value;
    end if;
  end loop;
  for v_trouble in
    update holdfast.alerts as a set told_at = v_now, told = a.value from holdfast.alert_rules as r
    where r.name = a.rule and a.fired_at is not null and coalesce(r.silenced_until, v_now) <= v_now
      and (a.told_at is null or (r.kind = 'dead_letters' and a.value > a.told and a.told_at <= v_now - interval '1 minute'))
    returning a.rule, a.subject, a.value, a.since
  loop
    perform holdfast.announce('firing', v_trouble.rule, v_trouble.subject, v_trouble.value, v_trouble.since);
  end loop;
end $$;

-- Notes where counters stand that have changed since the last look, and forgets what nobody asks for any more. In one statement, so that what is
-- counted meanwhile is seen at the next look.
create or replace function holdfast.mark_counters(p_now timestamptz) returns void
language plpgsql
set jit = off
as $$
begin
  insert into holdfast.alert_marks as m (what, at, value, before)
  select c.what, p_now, c.value, coalesce(known.value, 0) from (
    select n.what || ' ' || t.name as what, n.value
    from holdfast.counters as k join holdfast.types as t on t.id = k.type_id
    cross join lateral (values ('dead', k.dead + case when t.alert_expired then k.expired else 0 end), ('late', k.late), ('lost', k.lost)) as n (what, value)
    union all
    select 'refused', sum(e.total) from holdfast.enqueue_errors as e where e.status not in (401, 403) having count(*) > 0
    union all
    -- Those that were right, and that a healthy server with room would have stored.
    select 'unserved', sum(e.total) from holdfast.enqueue_errors as e where e.status = 429 or e.status >= 500 having count(*) > 0
    union all
    select 'drift', sum(d.total) from holdfast.drift_repairs as d having sum(d.total) > 0
    union all
    select case f.what when 'worker_restarts' then 'restarts' else 'asked' end, f.total
    from holdfast.fleet_counts as f where f.what in ('worker_restarts', 'enqueue_requests')
  ) as c left join lateral (select max(k.value) as value from holdfast.alert_marks as k where k.what = c.what) as known on true
  where c.value > coalesce(known.value, 0)
  on conflict (what, at) do update set value = excluded.value;
  delete from holdfast.alert_marks as m
  where m.at < p_now - interval '10 minutes'
    and exists (select from holdfast.alert_marks as n where n.what = m.what and n.at > m.at and n.at < p_now - interval '10 minutes');
end $$;

-- Makes a rule or changes the named fields of one.
create or replace function holdfast.set_alert_rule(p_name text, p_fields jsonb, p_actor holdfast.actor) returns void language plpgsql as $$
declare
  v_before jsonb;
begin
  select to_jsonb(r) into v_before from holdfast.alert_rules as r where r.name = p_name for update;
  if v_before is null and p_fields ->> 'kind' is null then
    raise exception 'there is no rule "%"; to make it, give its kind', p_name using errcode = 'HF002',
      hint = 'Kinds are dead_letters, breaker, depth, depth_growth, oldest, slow_starts, slow_runs, enqueue_errors, enqueue_error_rate, '
        || 'enqueue_spike, late_results, rescues, restarts, retention, missing_partitions, notify_queue and drift.';
  end if;
  insert into holdfast.alert_rules as r (name, kind) values (p_name, coalesce(p_fields ->> 'kind', v_before ->> 'kind')) on conflict (name) do nothing;
  update holdfast.alert_rules as r set
    kind = coalesce(p_fields ->> 'kind', r.kind),
    threshold = coalesce((p_fields ->> 'threshold')::double precision, r.threshold),
    type = case when p_fields ? 'type' then p_fields ->> 'type' else r.type end,
    min_priority = coalesce((p_fields ->> 'min_priority')::smallint, r.min_priority),
    lasts = coalesce((p_fields ->> 'for_ms')::double precision * interval '1 millisecond', r.lasts),
    hold = coalesce((p_fields ->> 'hold_ms')::double precision * interval '1 millisecond', r.hold),
    severity = coalesce(p_fields ->> 'severity', r.severity),
    silenced_until = case when p_fields ? 'silenced_until' then (p_fields ->> 'silenced_until')::timestamptz else r.silenced_until end,
    enabled = coalesce((p_fields ->> 'enabled')::boolean, r.enabled)
  where r.name = p_name;
  perform holdfast.audit('set_alert_rule', p_name, v_before, (select to_jsonb(r) from holdfast.alert_rules as r where r.name = p_name), p_actor);
end $$;

-- Removes a rule, with the trouble it found. False: there is no such rule.
create or replace function holdfast.drop_alert_rule(p_name text, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_before jsonb;
begin
  -- One that looks at this moment may be about to note trouble of it.
  perform pg_advisory_xact_lock(hashtextextended('holdfast.alerts', 0));
  delete from holdfast.alert_rules as r where r.name = p_name returning to_jsonb(r) into v_before;
  if v_before is not null then
    perform holdfast.audit('drop_alert_rule', p_name, v_before, null, p_actor);
  end if;
  return v_before is not null;
end $$;

-- A target as the log tells of it: never its secret, and of its address no more than where it is: the rest may be a secret too.
create or replace function holdfast.target_facts(p_target holdfast.alert_targets) returns jsonb language sql immutable as $$
  select jsonb_build_object('host', substring(p_target.url from '^https?://([^/?#]+)'), 'form', p_target.form, 'rules', p_target.rules)
$$;

-- Makes a target, and the type of the jobs that notify targets where there is none yet.
create or replace function holdfast.add_alert_target(p_url text, p_form text, p_secret text, p_rules text[], p_actor holdfast.actor) returns integer
language plpgsql as $$
declare
  v_unknown text := (select min(n) from unnest(p_rules) as n where n not in (select r.name from holdfast.alert_rules as r));
  v_target holdfast.alert_targets;
begin
  if v_unknown is not null then
    raise exception 'there is no rule "%"', v_unknown using errcode = 'HF002',
      hint = (select 'There are ' || string_agg(r.name, ', ' order by r.name) || '.' from holdfast.alert_rules as r);
  end if;
  insert into holdfast.types (name, lane_id, defined_lane, priority, max_attempts, timeout_ms, backoff)
  select 'holdfast:alert', l.id, l.id, 9, 10, 30000, '{"base": 10000, "factor": 3, "cap": 3600000, "jitter": 5000}'
  from holdfast.lanes as l
  where l.name = 'system' and not exists (select from holdfast.types as t where t.name = 'holdfast:alert') on conflict do nothing;
  insert into holdfast.alert_targets (url, form, secret, rules, created_by) values (p_url, p_form, p_secret, p_rules, p_actor.name) returning * into v_target;
  perform holdfast.audit('add_alert_target', v_target.id::text, null, holdfast.target_facts(v_target), p_actor);
  return v_target.id;
end $$;

-- Gives a target another secret. The one it had signs as well for p_grace_ms; one that it had before that does no more. False: there is
-- no such target.
create or replace function holdfast.rotate_alert_secret(p_id integer, p_secret text, p_grace_ms double precision, p_actor holdfast.actor)
returns boolean language plpgsql as $$
declare
  v_target holdfast.alert_targets;
begin
  update holdfast.alert_targets as t
  set secret = p_secret, old_secret = case when p_grace_ms > 0 then t.secret end,
      old_until = case when p_grace_ms > 0 then holdfast.now() + p_grace_ms * interval '1 millisecond' end
  where t.id = p_id returning * into v_target;
  if v_target.id is not null then
    perform holdfast.audit('rotate_alert_secret', p_id::text, null,
      holdfast.target_facts(v_target) || jsonb_build_object('old_until', v_target.old_until), p_actor);
  end if;
  return v_target.id is not null;
end $$;

-- Removes a target. Calls to it that wait end without being made. False: there is no such target.
create or replace function holdfast.drop_alert_target(p_id integer, p_actor holdfast.actor) returns boolean language plpgsql as $$
declare
  v_target holdfast.alert_targets;
begin
  delete from holdfast.alert_targets as t where t.id = p_id returning * into v_target;
  if v_target.id is not null then
    perform holdfast.audit('drop_alert_target', p_id::text, holdfast.target_facts(v_target), null, p_actor);
  end if;
  return v_target.id is not null;
end $$;

-- Calls a target as if there were trouble. Returns the job; null: there is no such target.
create or replace function holdfast.test_alert_target(p_id integer, p_actor holdfast.actor) returns uuid language plpgsql as $$
declare
  v_job uuid;
begin
  if not exists (select from holdfast.alert_targets as t where t.id = p_id) then
    return null;
  end if;
  select e.id into v_job from holdfast.enqueue('holdfast:alert', jsonb_build_object(
    'target', p_id, 'state', 'test', 'rule', 'test', 'kind', 'test', 'severity', 'info', 'threshold', 0, 'subject', '', 'value', 0,
    'since', holdfast.now(), 'at', holdfast.now())) as e;
  perform holdfast.audit('test_alert_target', p_id::text, null, null, p_actor);
  return v_job;
end $$;
