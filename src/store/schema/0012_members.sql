-- Why: several databases can be one system, in which jobs are routed to a member by their key. Each says its own name, so that addresses that
-- were mixed up are found before a job is stored in the wrong place, and whether jobs are routed to it.
-- Lock: none, everything is new. Cost: milliseconds. Old workers: none. Back: drop table holdfast.membership, holdfast.timeline.

-- At most one row; none where this is the only database.
create table holdfast.membership (
  one         boolean primary key default true constraint there_is_one_membership check (one),
  name        text not null,
  -- False: no job is routed here by its key. What names the member, or is part of a transaction of this database, is taken all the same.
  routed      boolean not null,
  changed_by  text,
  changed_why text,
  changed_at  timestamptz not null
);

-- On which timeline of PostgreSQL the installation runs, and what its last restore was told to end at. After a failover and after a restore it is another.
create table holdfast.timeline (
  one          boolean primary key default true constraint timeline_is_one check (one),
  timeline     integer not null,
  restored_to  text not null
);
