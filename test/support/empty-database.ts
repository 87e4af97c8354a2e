import { randomBytes } from 'node:crypto'
import pg from 'pg'

export interface EmptyDatabase {
  name: string
  connectionString: string
  drop(): Promise<void>
}

/** A database with nothing in it, not even our schema. */
export async function makeEmptyDatabase(): Promise<EmptyDatabase> {
  const name = `holdfast_empty_${randomBytes(6).toString('hex')}`
  await asAdmin((client) => client.query(`create database ${name} template template0`))
  const url = new URL(process.env.HOLDFAST_TEST_URL as string)
  url.pathname = `/${name}`
  return {
    name,
    connectionString: url.href,
    drop: () => asAdmin((client) => client.query(`drop database if exists ${name} with (force)`)).then(() => undefined),
  }
}

export async function asAdmin<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  return onDatabase(process.env.HOLDFAST_TEST_URL as string, work)
}

/** Runs `work` on one connection of its own. */
export async function onDatabase<Result>(
  connectionString: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
