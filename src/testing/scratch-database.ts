import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { monotonicMs, sleep, wallMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import { Database } from '../store/database.js'
import { migrate, schemaFingerprint } from '../store/migrate.js'

const lockKey = 7_203_115_905
const goodbyeMs = 3_000

/** A database of its own for one test, with the schema in it, made from a template in some 50 ms. */
export interface ScratchDatabase {
  /** The address of the database, for any client. */
  connectionString: string
  /** Removes the database. Whoever is still connected is cut off after three seconds. */
  drop(): Promise<void>
}

/** Makes a scratch database on this server. The user in the address must be allowed to create databases. */
export async function makeScratchDatabase(serverUrl: string): Promise<ScratchDatabase> {
  const { name, today } = nameOfToday()
  await onServer(serverUrl, async (client) => {
    const template = await ensureTemplate(serverUrl, client, today)
    await client.query(`create database ${name} template ${template} ${await cheapest(client)}`)
  })
  return {
    connectionString: withDatabase(serverUrl, name),
    drop: () =>
      onServer(serverUrl, async (client) => {
        await untilAllHaveLeft(client, name)
        await client.query(`drop database if exists ${name} with (force)`)
      }),
  }
}

/** A schema of its own for one test, in the database of the address, where databases may not be made. */
export interface ScratchSchema {
  /** Its name, for `new Holdfast({ connectionString, schema })`. */
  schema: string
  /** Removes the schema with everything in it. */
  drop(): Promise<void>
}

/** Makes a scratch schema: every table and function anew, since PostgreSQL copies databases and not schemas. */
export async function makeScratchSchema(databaseUrl: string): Promise<ScratchSchema> {
  const { name: schema, today } = nameOfToday()
  await onServer(databaseUrl, (client) => dropLeftSchemas(client, today))
  const database = new Database({ connectionString: databaseUrl, connections: 1, schema })
  await migrate(database).finally(() => database.close())
  return { schema, drop: () => onServer(databaseUrl, (client) => client.query(`drop schema if exists ${schema} cascade`)) }
}

/** A name nobody else has; its day tells a later run that it was left behind. */
function nameOfToday(): { name: string; today: string } {
  const today = new Date(wallMs()).toISOString().slice(0, 10).replaceAll('-', '')
  return { name: `holdfast_scratch_${today}_${randomBytes(6).toString('hex')}`, today }
}

/** What test runs of other days that were cut short left behind. Of someone else, or in use: it is not worth a failed test. */
async function dropLeftSchemas(client: pg.Client, today: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace
     where nspname ~ '^holdfast_scratch_\\d{8}_\\w+$'
       and to_date(substring(nspname from '\\d{8}'), 'YYYYMMDD') < to_date($1, 'YYYYMMDD') - 1`,
    [today],
  )
  for (const { name } of rows) await client.query(`drop schema if exists ${name} cascade`).catch(() => {})
}

/**
 * Copying the template's files takes half of the processor time that copying its pages does, but begins with a checkpoint, which is only
 * cheap where the server does not wait for its disk.
 */
async function cheapest(client: pg.Client): Promise<string> {
  const known = "select current_setting('fsync') = 'off' and current_setting('server_version_num')::int >= 150000 as unsynced"
  const { rows } = await client.query<{ unsynced: boolean }>(known)
  return rows[0]?.unsynced ? 'strategy file_copy' : ''
}

/**
 * A pool says that it has ended while its connections are still taking their leave. One that is cut off then reports an error, which
 * ends a process where nobody listens for it. Whoever stays longer than that is cut off.
 */
async function untilAllHaveLeft(client: pg.Client, name: string): Promise<void> {
  const deadline = monotonicMs() + goodbyeMs
  const there = `select from pg_stat_activity where datname = '${name}' and backend_type = 'client backend'`
  while ((await client.query(there)).rowCount !== 0 && monotonicMs() < deadline) await sleep(10)
}

/** One migrated template per version of the schema. Of many test processes at once one makes it, the others wait. */
async function ensureTemplate(serverUrl: string, client: pg.Client, today: string): Promise<string> {
  // A template from another day would lack that day's partitions; the default ones would catch its jobs.
  const name = `holdfast_template_${today}_${schemaFingerprint()}`
  const exists = async () => (await client.query('select from pg_database where datname = $1', [name])).rowCount === 1
  if (await exists()) return name
  await client.query('select pg_advisory_lock($1)', [lockKey])
  try {
    if (!(await exists())) await makeTemplate(serverUrl, client, name, today)
  } finally {
    await client.query('select pg_advisory_unlock($1)', [lockKey]).catch(() => {})
  }
  return name
}

async function makeTemplate(serverUrl: string, client: pg.Client, name: string, today: string): Promise<void> {
  await dropLeftovers(client, today)
  const unfinished = `${name}_unfinished`
  await client.query(`drop database if exists ${unfinished} with (force)`)
  await client.query(`create database ${unfinished}`)
  const database = new Database({ connectionString: withDatabase(serverUrl, unfinished), connections: 1 })
  await migrate(database).finally(() => database.close())
  await client.query(`alter database ${unfinished} rename to ${name}`)
}

/**
 * Templates of other days, and what test runs that were cut short left behind. The day before is spared: a run that began
 * before midnight may still be using it.
 */
async function dropLeftovers(client: pg.Client, today: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select datname as name from pg_database
     where datname ~ '^holdfast_(scratch|template)_\\d{8}_\\w+$'
       and to_date(substring(datname from '\\d{8}'), 'YYYYMMDD') < to_date($1, 'YYYYMMDD') - 1`,
    [today],
  )
  // In use after all, or somebody else's who is dropping it too: it is not worth a failed test.
  for (const { name } of rows) await client.query(`drop database if exists ${name}`).catch(() => {})
}

/** A connection to each server that was used a moment ago: one test drops its database and the next one makes its own. */
const kept = new Map<string, { client: Server; timer: NodeJS.Timeout }>()
/** The driver has these two, its types do not. */
type Server = pg.Client & { ref(): void; unref(): void }
const keptMs = 500

async function onServer(serverUrl: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = (await takeKept(serverUrl)) ?? (await connectTo(serverUrl))
  try {
    await work(client)
  } catch (error) {
    await client.end().catch(() => {})
    if ((error as { code?: string }).code !== '42501') throw error
    const message = `user ${client.user} may not create databases on the test server: alter role ${client.user} createdb, name another server in HOLDFAST_TEST_URL, or make a schema instead with scratchQueue({ schema: true })`
    throw new HoldfastError('invalid_configuration', message, { cause: error })
  }
  if (kept.has(serverUrl)) await client.end()
  else keep(serverUrl, client)
}

async function connectTo(serverUrl: string): Promise<Server> {
  const client = new pg.Client({ connectionString: serverUrl }) as Server
  client.on('error', () => forget(serverUrl, client))
  await client.connect()
  return client
}

/** It keeps no process alive. */
function keep(serverUrl: string, client: Server): void {
  const timer = setTimeout(() => {
    forget(serverUrl, client)
    void client.end().catch(() => {})
  }, keptMs)
  timer.unref()
  client.unref()
  kept.set(serverUrl, { client, timer })
}

/** The connection, if it is still one: the server may have gone. */
async function takeKept(serverUrl: string): Promise<Server | undefined> {
  const found = kept.get(serverUrl)?.client
  if (!found) return undefined
  forget(serverUrl, found)
  found.ref()
  try {
    await found.query('select')
    return found
  } catch {
    await found.end().catch(() => {})
    return undefined
  }
}

function forget(serverUrl: string, client: Server): void {
  const found = kept.get(serverUrl)
  if (found?.client !== client) return
  clearTimeout(found.timer)
  kept.delete(serverUrl)
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
