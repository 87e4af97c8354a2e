-- Why: what happened to jobs, in an order that readers can follow by a cursor. Nothing is written here until somebody reads: the row of feeds
-- says that somebody does, and without it whoever ends a job looks at an empty table and goes on.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

-- At most one row. Every event after since_seq is kept; what came before was never recorded, or its partition was dropped.
create table holdfast.feeds (
  one        boolean primary key default true constraint there_is_one_feed check (one),
  since_seq  bigint not null,
  since_at   timestamptz not null,
  -- When it was last read, to the minute. A feed that nobody has read for as long as events are kept is closed.
  read_at    timestamptz not null
);

-- Without a cache: a session that takes numbers ahead would write events behind those who read.
create sequence holdfast.event_seq cache 1;

-- The error and the tags of an event are read from the job when the event is.
create table holdfast.events (
  seq      bigint not null default nextval('holdfast.event_seq'),
  at       timestamptz not null,
  job_id   uuid not null,
  attempt  smallint not null,
  kind     text not null constraint event_kind_is_known check (kind in
    ('completed', 'retrying', 'dead', 'cancelled', 'discarded', 'replayed', 'resumed')),
  -- Of a death: as in dead_letters.
  reason   text
) partition by range (at);

create index events_in_order on holdfast.events (seq);

create table holdfast.events_rest partition of holdfast.events default;

-- Where a request goes about events of a type's jobs. A worker that starts with the type writes it; the secrets are encrypted if there are keys. Each
-- signs: there are two while one takes the place of the other.
create table holdfast.webhooks (
  type_id  integer primary key references holdfast.types,
  url      text not null,
  kinds    text[] not null,
  secrets  text[] not null
);

-- The same of a single job, for those that were enqueued with one: a column of bodies would cost every job. It is kept as long as the job, because
-- the jobs that send the requests read it.
create table holdfast.job_webhooks (
  job_id   uuid not null constraint job_webhooks_by_job primary key,
  url      text not null,
  kinds    text[] not null,
  secrets  text[] not null
);
