import pg from 'pg'

/** One block for each thing, in order of kind and name. The same on every version of Postgres but for the text of views. */
const blocks = `
  with things as (
    select c.oid, c.relname as name, c.relkind as kind, c.reloptions as options
    from pg_class as c where c.relnamespace = 'holdfast'::regnamespace and not (c.relispartition and c.relname ~ '_[0-9]{8}$')
  ), lines as materialized (
    select things.oid, 1 as part, attnum::text as place,
           format('  %s %s%s%s%s', rpad(attname, 16), format_type(atttypid, atttypmod),
             case when attidentity = 'a' then ' generated always as identity' end,
             coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''), case when attnotnull then ' not null' end)
           || case when attstorage <> typstorage then ' stored ' || case attstorage when 'e' then 'external' else attstorage::text end
              else '' end as line
    from things join pg_attribute on attrelid = things.oid and attnum > 0 and not attisdropped
    join pg_type on pg_type.oid = atttypid
    left join pg_attrdef as d on d.adrelid = attrelid and d.adnum = attnum
    where kind in ('r', 'p', 'v')
    union all
    select things.oid, 2, conname, format('  constraint %s %s', conname, pg_get_constraintdef(pg_constraint.oid))
    from things join pg_constraint on conrelid = things.oid where contype <> 'n'
    union all
    select things.oid, 3, indexrelid::regclass::text, '  ' || regexp_replace(pg_get_indexdef(indexrelid), '^CREATE ', '')
    from things join pg_index as i on indrelid = things.oid
    where not exists (select from pg_constraint as k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
    union all
    select oid, 4, '', '  with ' || array_to_string(options, ', ') from things where options is not null and kind in ('r', 'p')
  )
  select case kind when 'v' then 5 when 'S' then 2 else 3 end as rank, name,
         case kind when 'v' then 'view' when 'S' then 'sequence' else 'table' end || ' holdfast.' || name
         || case when kind = 'p' then ' partition by ' || pg_get_partkeydef(things.oid) else '' end
         || coalesce(E'\\n' || string_agg(line, E'\\n' order by part, case part when 1 then lpad(place, 4) else place end collate "C"), '') as text,
         case kind when 'v' then pg_get_viewdef(things.oid, true) end as definition
  from things left join lines using (oid) where kind in ('r', 'p', 'v', 'S') group by things.oid, name, kind
  union all
  select 1, t.typname, format('enum holdfast.%s (%s)', t.typname, string_agg(enumlabel, ', ' order by enumsortorder)), null
  from pg_type as t join pg_enum on enumtypid = t.oid where t.typnamespace = 'holdfast'::regnamespace group by t.typname
  union all
  select 4, p.proname, format(E'function holdfast.%s(%s)\\n  returns %s, %s, %s, parallel %s%s\\n%s', p.proname,
           pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), l.lanname,
           case provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
           case proparallel when 's' then 'safe' when 'r' then 'restricted' else 'unsafe' end,
           coalesce(E'\\n  set ' || array_to_string(proconfig, ', '), ''), trim(E'\\n' from p.prosrc)), null
  from pg_proc as p join pg_language as l on l.oid = prolang where p.pronamespace = 'holdfast'::regnamespace
  order by rank, name`

/** The schema of that database as text. `definitions: false` leaves out the text of views, which each Postgres words its own way. */
export async function describeSchema(url: string, { definitions = true } = {}): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // With nothing else in it, every name is printed with its schema.
    await client.query('set search_path to pg_catalog')
    const { rows } = await client.query(blocks)
    const texts = rows.map(({ text, definition }) => (definition && definitions ? `${text}\nas\n${definition.trimEnd()}` : text))
    return `${texts.join('\n\n')}\n`
  } finally {
    await client.end()
  }
}
