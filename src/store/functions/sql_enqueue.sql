-- Plain SQL enqueues too: from psql, a trigger, or any language with a driver.

-- Enqueues one job from psql, a trigger or any language, in the caller's transaction:
--   select * from holdfast.enqueue('send_email', '{"to": "ada@example.com"}', '{"delay": "5 minutes", "priority": 9}');
create or replace function holdfast.enqueue(type text, payload jsonb, options jsonb default '{}')
returns table (id uuid, status text)
language plpgsql
security definer set search_path = holdfast, pg_temp
as $$
declare
  v_options constant jsonb := coalesce(options, '{}');
  v_asked record;
  v_number text;
  v_stands uuid;
  v_what text;
begin
  if payload is null then
    raise exception 'the payload is null; a job without data has the payload {}' using errcode = 'HF002';
  end if;
  if octet_length(payload::text) > 65536 then
    raise exception 'the payload has % bytes; at most 65536 are stored', octet_length(payload::text) using errcode = 'HF003';
  end if;
  -- jsonb keeps any number, but handlers are JavaScript, which would round this one without a word.
  select n.value::text into v_number
  from jsonb_path_query(payload, 'strict $.** ? (@.type() == "number" && (@ > 9007199254740991 || @ < -9007199254740991))')
    as n (value)
  where case when abs(n.value::numeric) > 1.7976931348623157e308 then true
             else n.value::numeric <> n.value::numeric::float8::text::numeric end
  limit 1;
  if v_number is not null then
    raise exception 'the payload has the number %, which JavaScript cannot represent exactly', left(v_number, 50)
      using errcode = 'HF004', hint = 'Write it as a text.';
  end if;

  select * into v_asked from holdfast.read_options(v_options);
  perform holdfast.refuse_excess(type, v_asked.priority, case
    when v_asked.approval is not null then 'unapproved'
    when v_asked.delay_ms > 0 or v_asked.run_at > holdfast.now() or v_asked.uniqueness ->> 'delay' is not null then 'scheduled' else 'ready' end);
  select e.job_id, e.what into v_stands, v_what from holdfast.enqueue_jobs(
    array[v_asked.id], array[type], array[payload::text], array[v_asked.priority], array[v_asked.max_attempts],
    array_remove(array[v_asked.delay_ms], null), array_remove(array[v_asked.run_at], null),
    array_remove(array[v_asked.idempotency_key], null), array[v_asked.concurrency_key],
    v_options ->> 'id' is null, false, true, case when v_asked.approval is not null then array[v_asked.approval] end,
    case when v_asked.uniqueness is not null then array[v_asked.uniqueness::text] end,
    p_tags => case when v_asked.tags is not null then array[v_asked.tags::text] end,
    p_start_bys => case when v_asked.start_by is not null then array[v_asked.start_by] end,
    p_expire_ins_ms => case when v_asked.expire_in_ms is not null then array[v_asked.expire_in_ms] end,
    p_versions => case when v_asked.version is not null then array[v_asked.version] end,
    p_check => true) as e;
  return query select coalesce(v_stands, v_asked.id), coalesce(v_what, 'created');
end $$;

-- Reads the options of enqueue, or says which one is wrong and how. What is left out or null is null; an id is made.
create or replace function holdfast.read_options(
  p_options jsonb, out id uuid, out priority smallint, out max_attempts smallint, out delay_ms double precision,
  out run_at timestamptz, out idempotency_key text, out concurrency_key text, out approval jsonb, out uniqueness jsonb, out tags text[],
  out start_by timestamptz, out expire_in_ms double precision, out version smallint
) language plpgsql as $$
declare
  v_option text;
  v_problem text;
begin
  if jsonb_typeof(p_options) <> 'object' then
    raise exception 'the options are a JSON %, not an object', jsonb_typeof(p_options) using errcode = 'HF002';
  end if;
  select o.key into v_option from jsonb_object_keys(p_options) as o (key)
  where o.key not in ('id', 'priority', 'max_attempts', 'delay', 'run_at', 'idempotency_key', 'concurrency_key', 'approval',
                      'unique', 'tags', 'start_by', 'expire_in', 'version')
  limit 1;
  if found then
    raise exception 'unknown option "%"', v_option using errcode = 'HF002',
      hint = 'The options are id, priority, max_attempts, delay, run_at, idempotency_key, concurrency_key, approval, unique, tags, start_by, expire_in and version.';
  end if;
  if p_options ->> 'delay' is not null and p_options ->> 'run_at' is not null then
    raise exception 'delay and run_at exclude each other' using errcode = 'HF002';
  end if;
  if p_options ->> 'start_by' is not null and p_options ->> 'expire_in' is not null then
    raise exception 'start_by and expire_in exclude each other' using errcode = 'HF002';
  end if;

  begin
    v_option := 'id';
    id := p_options ->> v_option;
    v_option := 'priority';
    priority := p_options ->> v_option;
    v_option := 'max_attempts';
    max_attempts := p_options ->> v_option;
    v_option := 'delay';
    delay_ms := extract(epoch from (p_options ->> v_option)::interval) * 1000;
    v_option := 'run_at';
    run_at := p_options ->> v_option;
    v_option := 'idempotency_key';
    idempotency_key := p_options ->> v_option;
    v_option := 'concurrency_key';
    concurrency_key := p_options ->> v_option;
    v_option := 'approval';
    approval := holdfast.read_approval(p_options -> v_option);
    v_option := 'unique';
    uniqueness := nullif(p_options -> v_option, 'null');
    v_option := 'version';
    version := p_options ->> v_option;
    v_option := 'start_by';
    start_by := p_options ->> v_option;
    v_option := 'expire_in';
    expire_in_ms := extract(epoch from (p_options ->> v_option)::interval) * 1000;
    v_option := 'tags';
    if jsonb_typeof(p_options -> v_option) = 'array' then
      tags := nullif(array(select t from jsonb_array_elements_text(p_options -> v_option) as t), '{}');
    end if;
  exception when data_exception then
    raise exception 'option % cannot be %: %', v_option, p_options -> v_option, sqlerrm using errcode = 'HF002';
  end;

  select wrong.name, wrong.rule into v_option, v_problem from (values
    ('id', substr(id::text, 15, 1) <> '7' or substr(id::text, 20, 1) not in ('8', '9', 'a', 'b'),
     'it must be a UUIDv7; for keys of your own there is idempotency_key'),
    ('priority', priority not between 0 and 9, 'it must be a whole number from 0 to 9'),
    ('max_attempts', max_attempts not between 1 and 20, 'it must be a whole number from 1 to 20'),
    -- A bare number is seconds to PostgreSQL and milliseconds to the SDK, so it is nobody's.
    ('delay', p_options ->> 'delay' ~ '^[-+ \d.]*$', 'it must have a unit, such as "5 minutes" or "90s"'),
    ('delay', delay_ms not between 0 and 157680000000, 'it must lie between 0 and five years'),
    ('run_at', run_at not between '2000-01-01Z' and '2199-12-31Z', 'it must lie between the years 2000 and 2199'),
    ('version', version < 1, 'it must be a whole number from 1 to 32767'),
    ('start_by', start_by not between '2000-01-01Z' and '2199-12-31Z', 'it must lie between the years 2000 and 2199'),
    ('start_by', start_by <= run_at, 'it must be later than run_at'),
    ('expire_in', p_options ->> 'expire_in' ~ '^[-+ \d.]*$', 'it must have a unit, such as "5 minutes" or "90s"'),
    ('expire_in', expire_in_ms not between 1 and 157680000000, 'it must lie between 1 ms and five years'),
    ('expire_in', expire_in_ms <= delay_ms, 'it must be longer than delay'),
    ('idempotency_key', length(idempotency_key) not between 1 and 500, 'it must have 1 to 500 characters'),
    ('tags', jsonb_typeof(p_options -> 'tags') not in ('array', 'null') or cardinality(tags) > 8
             or exists (select from unnest(tags) as t where coalesce(length(t), 0) not between 1 and 100),
     'it must be a list of at most 8 texts of 1 to 100 characters'),
    ('concurrency_key', length(concurrency_key) not between 1 and 500, 'it must have 1 to 500 characters')
  ) as wrong (name, is_wrong, rule) where wrong.is_wrong limit 1;
  if found then
    raise exception 'option % is %; %', v_option, left((p_options -> v_option)::text, 100), v_problem using errcode = 'HF002';
  end if;
  id := coalesce(id, holdfast.new_job_id());
end $$;
