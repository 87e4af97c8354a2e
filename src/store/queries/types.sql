-- name: registerTypes
-- Makes job types known, or brings what is known up to date. Writes nothing where nothing changed.
-- A known type comes with the id it has: asking for a new one that is thrown away would use up the ids with the starts of processes.
-- Takes rows in name order, so that many workers starting at once wait for each other instead of deadlocking.
-- Answers with the names of all lanes. Where a type names one that there is not, nothing is written.
-- $6: whether a type that is known already takes these values (a worker's start) or keeps its own (a producer's first use).
-- What operators said of a type stays (keep_operators_word); then all that its definition says is kept beside it.
with asked as (
  select t.*, jsonb_build_object('lane', t.lane, 'priority', t.priority, 'max_attempts', t.max_attempts, 'timeout_ms', t.timeout_ms,
    'backoff', t.backoff::jsonb, 'approval', t.approval::jsonb, 'uniqueness', t.uniqueness::jsonb, 'sensitive', t.sensitive, 'encrypted', t.encrypted,
    'redact', t.redact::jsonb, 'shared_keys', t.shared_keys, 'max_result_bytes', t.max_result_bytes, 'alert_expired', t.alert_expired,
    'on_dead', t.on_dead, 'searchable', t.searchable::jsonb, 'payload_schema', t.payload_schema::jsonb) as code
  from unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], $5::integer[], $7::text[], $8::text[], $9::text[],
                       $10::boolean[], $11::boolean[], $12::text[], $13::boolean[], $14::integer[], $15::boolean[], $16::text[], $17::smallint[], $18::text[], $19::text[])
    as t (name, lane, priority, max_attempts, timeout_ms, approval, uniqueness, backoff, sensitive, encrypted, redact, shared_keys, max_result_bytes, alert_expired, on_dead, version, searchable,
          payload_schema)
), made as (
insert into holdfast.types as known (id, name, lane_id, defined_lane, priority, max_attempts, timeout_ms, approval, uniqueness, backoff,
                                     sensitive, encrypted, redact, shared_keys, max_result_bytes, alert_expired, on_dead, version, searchable,
                                     payload_schema)
overriding system value
select coalesce(k.id, nextval('holdfast.types_id_seq')), t.name, l.id, l.id, t.priority, t.max_attempts, t.timeout_ms, t.approval::jsonb,
       t.uniqueness::jsonb, t.backoff::jsonb, t.sensitive, t.encrypted, t.redact::jsonb, t.shared_keys, t.max_result_bytes, t.alert_expired, t.on_dead, t.version,
       t.searchable::jsonb, t.payload_schema::jsonb
from asked as t
join holdfast.lanes as l on l.name = t.lane
left join holdfast.types as k on k.name = t.name
where not exists (select from asked as a where not exists (select from holdfast.lanes as n where n.name = a.lane))
  and (k.id is null or $6::text::boolean and case when k.operator is not null then k.defined is distinct from t.code or k.version < t.version else
      (k.defined_lane, k.priority, k.max_attempts, k.timeout_ms, k.approval, k.uniqueness, k.backoff, k.sensitive, k.encrypted, k.redact,
       k.shared_keys, k.max_result_bytes, k.alert_expired, k.on_dead, k.version, k.searchable, k.payload_schema)
      is distinct from (l.id, t.priority, t.max_attempts, t.timeout_ms, t.approval::jsonb, t.uniqueness::jsonb, t.backoff::jsonb, t.sensitive,
                        t.encrypted, t.redact::jsonb, t.shared_keys, t.max_result_bytes, t.alert_expired, t.on_dead, greatest(k.version, t.version),
                        t.searchable::jsonb, case when t.version < k.version then k.payload_schema else t.payload_schema::jsonb end) end)
order by t.name
on conflict (name) do update
  set lane_id = case when known.defined_lane = excluded.defined_lane or known.operator ? 'lane' then known.lane_id else excluded.lane_id end,
      left_lanes = case when known.defined_lane = excluded.defined_lane or known.operator ? 'lane' then known.left_lanes
                        else holdfast.lanes_left(known.left_lanes, known.lane_id, excluded.lane_id) end,
      left_at = case when known.defined_lane = excluded.defined_lane or known.operator ? 'lane' then known.left_at else holdfast.now() end,
      left_in = case when known.defined_lane = excluded.defined_lane or known.operator ? 'lane' then known.left_in else pg_current_xact_id() end,
      defined_lane = excluded.defined_lane, priority = excluded.priority, max_attempts = excluded.max_attempts,
      timeout_ms = excluded.timeout_ms, approval = excluded.approval, uniqueness = excluded.uniqueness,
      backoff = excluded.backoff, sensitive = excluded.sensitive, encrypted = excluded.encrypted, redact = excluded.redact,
      shared_keys = excluded.shared_keys, max_result_bytes = excluded.max_result_bytes, alert_expired = excluded.alert_expired, on_dead = excluded.on_dead,
      version = greatest(known.version, excluded.version), searchable = excluded.searchable,
      -- That of the newest payloads, whoever starts later.
      payload_schema = case when excluded.version < known.version then known.payload_schema else excluded.payload_schema end,
      -- As the row is now: an operator may have said the first word of it since this statement began.
      defined = case when known.operator is not null then (select a.code from asked as a where a.name = excluded.name) end
  where $6::text::boolean
)
select to_jsonb(array(select l.name from holdfast.lanes as l order by l.id)) as lanes

-- name: readTypes
-- The registered types with their lane, by name.
select t.name, t.id, t.lane_id as lane, l.name as lanename, t.sensitive, t.encrypted, t.uniqueness, t.redact
from holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id
where $1::text[] is null or t.name = any ($1::text[])

-- name: readLanes
-- Every lane.
select id, name from holdfast.lanes order by id

-- name: defineType
-- Defines a type, or changes the named settings of one.
select holdfast.define_type($1::text, $2::text::jsonb, $3::text::boolean, holdfast.actor($4::text, $5::text, $6::text))::text as done

-- name: typeSettings
-- Every stored setting of a type; null where there is no such type.
select holdfast.type_settings($1::text) as settings,
       (select holdfast.overrides(t.defined, t.operator, null, holdfast.now()) from holdfast.types as t where t.name = $1::text) as overrides, date_part('epoch', (select t.registered_at from holdfast.types as t where t.name = $1::text)) * 1000 as registered

-- name: releaseType
-- Gives settings of a type back to its definition; null: all of them.
select holdfast.release_type($1::text, $2::text[], $3::text::boolean, holdfast.actor($4::text, $5::text, $6::text))::text as done
