import { misconfigured } from '../job/refused.js'

/** All SQL in this package is written for a schema of this name. */
export const defaultSchema = 'holdfast'

/** Channels carry the schema's name and have room for 63 bytes in all. */
const mostBytes = 40

/** Refuses what cannot be the name of a schema. Quotes, dollars and backslashes could end the text that a name is put into. */
export function checkSchemaName(name: string): string {
  const problem =
    typeof name !== 'string' || name === ''
      ? 'must be a name, such as "jobs_eu"'
      : Buffer.byteLength(name) > mostBytes
        ? `has ${Buffer.byteLength(name)} bytes; at most ${mostBytes} are allowed`
        : /['"$\\\p{Cc}]/u.test(name)
          ? 'must not contain quotes, dollar signs, backslashes or control characters'
          : /^pg_/i.test(name)
            ? 'must not begin with pg_, which PostgreSQL keeps for itself'
            : undefined
  if (problem) throw misconfigured('schema', `${JSON.stringify(name)} ${problem}`)
  return name
}

/** The name as it stands in SQL: quoted where it has to be. */
export function quotedSchema(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`
}

/**
 * SQL written for the default schema, for another one. It replaces every `holdfast.`, in names of tables and functions as in names of
 * locks and channels, and the path of functions that run with the rights of their owner, so that two installations in one database neither touch nor hear each other. Settings of a session (`current_setting`,
 * `set_config`) keep their name: they are of the session, and a setting cannot have every name that a schema can.
 */
export function inSchema(sql: string, name: string): string {
  if (name === defaultSchema) return sql
  const quoted = quotedSchema(name)
  return sql
    .replaceAll(/(?<!(?:current_setting|set_config)\(')\bholdfast\./g, `${quoted}.`)
    .replaceAll('search_path = holdfast,', `search_path = ${quoted},`)
    .replaceAll("'holdfast'::regnamespace", `'${quoted}'::regnamespace`)
}

/** The channel on which producers notify the workers of a lane, or operators one worker. The SQL side writes the same. */
export function channelName(schema: string, kind: 'lane' | 'worker', id: number | string): string {
  return inSchema(`holdfast.${kind}_${id}`, schema)
}

/** The channel on which those who wait for jobs hear which of them may have ended. */
export function endedChannel(schema: string): string {
  return inSchema('holdfast.ended', schema)
}

/** For LISTEN, which takes a name and not a text. */
export function quotedChannel(channel: string): string {
  return `"${channel.replaceAll('"', '""')}"`
}
