import { createHash, randomBytes } from 'node:crypto'
import pg from 'pg'
import { Database } from '../store/database.js'
import { migrate, readMigrations } from '../store/migrate.js'

const lockKey = 7_203_115_905

/** A database of its own for one test, with the schema in it, made from a template in some 50 ms. */
export interface ScratchDatabase {
  connectionString: string
  drop(): Promise<void>
}

/** The server must let this user create databases. */
export async function makeScratchDatabase(serverUrl: string): Promise<ScratchDatabase> {
  const template = await ensureTemplate(serverUrl)
  const name = `holdfast_scratch_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, (client) => client.query(`create database ${name} template ${template}`))
  return {
    connectionString: withDatabase(serverUrl, name),
    drop: () => onServer(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`)),
  }
}

/** One migrated template per version of the schema. Of many test processes at once one makes it, the others wait. */
async function ensureTemplate(serverUrl: string): Promise<string> {
  const version = createHash('sha256')
    .update(
      readMigrations()
        .map((migration) => migration.checksum)
        .join(),
    )
    .digest('hex')
    .slice(0, 12)
  // A template from another day would lack that day's partitions; the default ones would catch its jobs.
  const name = `holdfast_template_${version}_${new Date().toISOString().slice(0, 10).replaceAll('-', '')}`
  await onServer(serverUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [lockKey])
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount) return
    const unfinished = `${name}_unfinished`
    await client.query(`drop database if exists ${unfinished} with (force)`)
    await client.query(`create database ${unfinished}`)
    const database = new Database({ connectionString: withDatabase(serverUrl, unfinished), connections: 1 })
    await migrate(database)
    await database.close()
    await client.query(`alter database ${unfinished} rename to ${name}`)
  })
  return name
}

async function onServer(serverUrl: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl })
  client.on('error', () => {})
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}
