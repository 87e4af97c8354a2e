-- Why: who may do what over HTTP (keys, roles, sessions), and the log of what operators did.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop schema holdfast cascade.

create table holdfast.roles (
  name         text primary key constraint role_name_is_short check (name ~ '^[a-z][a-z0-9_-]{0,62}$'),
  permissions  text[] not null constraint permissions_are_known check (permissions <@ array[
    'jobs:read', 'jobs:enqueue', 'jobs:cancel', 'jobs:work', 'workers:view', 'workers:manage', 'types:manage', 'dlq:manage', 'admin']),
  built_in     boolean not null default false
);

insert into holdfast.roles (name, permissions, built_in) values
  ('producer', '{jobs:enqueue,jobs:read,jobs:cancel}', true),
  ('worker', '{jobs:work}', true),
  ('viewer', '{jobs:read,workers:view}', true),
  ('operator', '{jobs:read,jobs:cancel,workers:view,workers:manage,types:manage,dlq:manage}', true),
  ('admin', '{admin}', true);

-- A key itself is shown once and never kept: only its hash, and its first characters so that people can tell keys apart. A
-- certificate that stands for a service is a key without a secret: it has the subject of the certificate in place of a hash.
create table holdfast.api_keys (
  id            integer generated always as identity primary key,
  -- "admin" is the key of the installation, "holdfast" what happens by itself.
  service       text not null constraint service_is_short check (
    service ~ '^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$' and service not in ('admin', 'holdfast')),
  hash          bytea constraint api_keys_hash unique constraint hash_is_sha_256 check (octet_length(hash) = 32),
  -- The common name of a certificate, or sha256: and its fingerprint.
  subject       text constraint subject_is_short check (length(subject) between 1 and 200),
  prefix        text not null,
  roles         text[] not null constraint key_has_a_role check (cardinality(roles) >= 1),
  -- The job types it may enqueue and work on; null: all.
  types         text[],
  -- Requests a second, of all server processes together.
  rate_limit    integer not null default 1000 constraint rate_limit_is_positive check (rate_limit between 1 and 1000000),
  created_at    timestamptz not null default holdfast.now(),
  created_by    text not null,
  expires_at    timestamptz,
  revoked_at    timestamptz,
  -- To the minute: a write for every request would cost more than it tells.
  last_used_at  timestamptz,
  constraint key_or_certificate check ((hash is null) <> (subject is null))
);

-- What is left of the requests a second of a service, as its servers told it: a row for each limit that one of its keys has. Not in the log of the
-- server, because what was there before a crash does not matter after it.
create unlogged table holdfast.request_rates (
  service  text not null,
  rate     integer not null,
  tokens   double precision not null,
  at       timestamptz not null,
  primary key (service, rate)
) with (fillfactor = 50);

create unique index api_keys_subject on holdfast.api_keys (subject) where revoked_at is null;

create index api_keys_of_service on holdfast.api_keys (service, id);

-- What operators did. Nothing changes a line or takes one away, whoever asks.
create table holdfast.audit_log (
  id      bigint generated always as identity primary key,
  at      timestamptz not null,
  actor   text not null,
  -- Where it came from, such as the address of the caller; null: from inside, through the library or SQL.
  origin  text,
  action  text not null,
  target  text,
  before  jsonb,
  after   jsonb,
  why     text
);

create index audit_log_by_actor on holdfast.audit_log (actor, id);

create index audit_log_by_target on holdfast.audit_log (target, id);

create index audit_log_by_time on holdfast.audit_log (at);

-- A session is known by the hash of what its cookie holds, as a key is by its own.
create table holdfast.sessions (
  hash        bytea primary key constraint session_hash_is_sha_256 check (octet_length(hash) = 32),
  -- Null: of a person, or of the installation's own key, which is not kept here. The hash of such a session is made with that key, so that
  -- whoever changes the key ends its sessions.
  key_id      integer references holdfast.api_keys,
  -- Whom an identity provider has named, and the roles that their groups had then.
  person      text constraint person_is_marked check (person ~ '^person:.'),
  roles       text[],
  created_at  timestamptz not null default holdfast.now(),
  expires_at  timestamptz not null,
  constraint key_or_person check (person is null or (key_id is null and cardinality(roles) >= 1)),
  constraint roles_of_person check ((person is null) = (roles is null))
);

create index sessions_of_key on holdfast.sessions (key_id, created_at);

create index sessions_expired on holdfast.sessions (expires_at);
