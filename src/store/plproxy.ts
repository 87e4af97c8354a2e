import { inSchema, quotedSchema } from './schema-name.js'
import { sqlFiles } from './sql-files.js'

/** Where PL/Proxy finds a member. */
export interface ProxiedMember {
  name: string
  connectionString: string
}

const router = 'holdfast_router'

/**
 * A script for a database that routes the jobs of SQL producers with PL/Proxy: PostgreSQL's extension `plproxy`, one foreign server for each
 * member, and `holdfast_router.enqueue(key, type, payload, options)`. It routes with the same function as the library. Passwords are left out:
 * they belong into the user mappings or a .pgpass of the server.
 */
export function routerScript(members: readonly ProxiedMember[], schema: string): string {
  const hashing = (sqlFiles('functions').get('members.sql') ?? '').split(/\n\n(?=--)/)
  const copies = hashing.filter((text) => /holdfast\.(routed_part|member_of)\(p_key/.test(text))
  return [
    'begin;',
    'create extension if not exists plproxy;',
    `create schema if not exists ${router};`,
    ...members.flatMap(serverOf),
    `create table if not exists ${router}.members (name text primary key, routed boolean not null default true);`,
    `delete from ${router}.members where name <> all (array[${members.map(({ name }) => `'${name}'`).join(', ')}]);`,
    ...members.map(({ name }) => `insert into ${router}.members (name) values ('${name}') on conflict do nothing;`),
    ...copies.map((text) => `${inSchema(text, router).trim()}\n`),
    routing.replaceAll('@schema@', quotedSchema(schema)),
    'commit;',
  ].join('\n\n')
}

/** What an address asks of the connection: left out, PL/Proxy would send jobs in the open where the library refuses to. */
const kept = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey']

function serverOf({ name, connectionString }: ProxiedMember): string[] {
  const { hostname, port, pathname, username, searchParams } = new URL(connectionString)
  const inPlace = (text: string) => (/^[\w./:-]+$/.test(text) ? text : `'${text.replace(/['\\]/g, '\\$&')}'`)
  const asked = kept.flatMap((one) => (searchParams.has(one) ? [[one, searchParams.get(one) as string] as const] : []))
  const parts = [
    ['dbname', decodeURIComponent(pathname.slice(1))],
    ['host', decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1')],
    ['port', port || '5432'],
    ...asked,
  ] as const
  const place = parts.map(([key, value]) => `${key}=${inPlace(value)}`).join(' ')
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`
  const user = username === '' ? '' : ` options (user ${literal(decodeURIComponent(username))})`
  const server = `holdfast_${name}`
  return [
    `drop server if exists ${server} cascade;`,
    `create server ${server} foreign data wrapper plproxy options (p0 ${literal(place)});`,
    `create user mapping for public server ${server}${user};`,
  ]
}

/** A member that is drained stores nothing of what is routed to it, also where this database has not heard of it yet. */
const routing = `-- The server of the member that a key belongs to; PL/Proxy asks for it with each call.
create or replace function holdfast_router.cluster_of(p_key text) returns text language plpgsql stable as $$
declare
  v_member constant text := holdfast_router.member_of(p_key, array(select m.name from holdfast_router.members as m where m.routed order by m.name));
begin
  if v_member is null then
    raise exception 'no member takes jobs by their key' using hint = 'Open one, and select holdfast_router.refresh().';
  end if;
  return holdfast_router.server_of(v_member);
end $$;

create or replace function holdfast_router.store(p_key text, p_type text, p_payload jsonb, p_options jsonb) returns setof text language plproxy as $$
  cluster holdfast_router.cluster_of(p_key);
  run on any;
  select m.name || ':' || e.id || ' ' || e.status
  from (select m.name from @schema@.membership as m where m.routed offset 0) as m,
       lateral @schema@.enqueue(p_type, p_payload, p_options) as e;
$$;

create or replace function holdfast_router.server_of(p_member text) returns text language sql immutable as $$ select 'holdfast_' || p_member $$;

create or replace function holdfast_router.ask(p_member text) returns setof boolean language plproxy as $$
  cluster holdfast_router.server_of(p_member);
  run on any;
  select m.routed from @schema@.membership as m;
$$;

-- Learns which members are open and which are drained. One that does not answer stays as it was.
create or replace function holdfast_router.refresh() returns void language plpgsql as $$
declare
  v_name text;
  v_routed boolean;
begin
  for v_name in select m.name from holdfast_router.members as m loop
    begin
      v_routed := (select a from holdfast_router.ask(v_name) as a);
      update holdfast_router.members as m set routed = v_routed where m.name = v_name and m.routed is distinct from v_routed;
    exception when others then
      raise warning 'the member % does not answer: %', v_name, sqlerrm;
    end;
  end loop;
end $$;

-- Stores a job in the member of its key, at once and for good: it is not part of the transaction of the caller. Answers with its id, and what it is there.
create or replace function holdfast_router.enqueue(key text, type text, payload jsonb, options jsonb default '{}')
returns table (id text, status text) language plpgsql as $$
declare
  v_kept text;
  v_stored text;
begin
  if options ? 'unique' and options -> 'unique' <> 'false' and options #>> '{unique,key}' is null then
    raise exception 'unique is made from the payload, which says nothing of the member; give unique.key';
  end if;
  foreach v_kept in array array_remove(array[options ->> 'idempotency_key', options #>> '{unique,key}'], null) loop
    if holdfast_router.routed_part(v_kept) <> holdfast_router.routed_part(key) then
      raise exception 'the key is "%", and "%" may belong to another member; write both with the same part in braces', key, v_kept;
    end if;
  end loop;
  v_stored := (select s from holdfast_router.store(key, type, payload, options) as s);
  if v_stored is null then
    raise exception 'the member % is drained', substr(holdfast_router.cluster_of(key), 10) using hint = 'Select holdfast_router.refresh(), and enqueue again.';
  end if;
  return query select split_part(v_stored, ' ', 1), split_part(v_stored, ' ', 2);
end $$;

select holdfast_router.refresh();`
