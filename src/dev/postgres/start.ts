import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import pg from 'pg'
import { HoldfastError } from '../../errors.js'
import { refuseUnknown } from '../../job/refused.js'
import { findBinaries, program, runnableBy } from './binaries.js'
import { initialise, isInitialised, placeData, readPassword, superuser } from './data-directory.js'
import { adoptOrLaunch, type Cluster, type Server } from './launch.js'
import { host } from './port.js'
import { isPostmasterOf, stopPostmaster } from './postmaster.js'
import { chooseIdentity } from './unprivileged.js'
import { waitFor } from './wait.js'

const goneWithinSeconds = 2

/** Which PostgreSQL is started, and where its data is. */
export interface PostgresOptions {
  /** Where databases are kept, one directory for each major version. Made if it does not exist. */
  dataDir: string
  /**
   * The directory with `postgres` and `initdb`.
   * @default HOLDFAST_POSTGRES_BIN, else the npm binaries, else the system's
   */
  binDir?: string
  /**
   * Server settings such as `{ fsync: 'off' }`. A server that runs already keeps those it was started with.
   * @default {}
   */
  settings?: Record<string, string>
  /**
   * Called when something is unexpected, such as data kept in another directory.
   * @default none
   */
  onNotice?: (line: string) => void
}

/** A PostgreSQL that answers. */
export interface RunningPostgres {
  connectionString: string
  host: string
  port: number
  /** The directory of the cluster itself, such as `<dataDir>/pg18`. */
  dataDir: string
  version: string
  pid: number
  /** True when the server ran before this call: an earlier process left it, or another one just started it. */
  adopted: boolean
  /** Ends the server, whoever started it, and resolves when it has gone. Safe to call twice. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
}

/** Resolves when a Postgres on `dataDir` answers: one left running there, or one made and started now. It outlives this process. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  refuseUnknown(options, ['dataDir', 'binDir', 'settings', 'onNotice'])
  const notice = options.onNotice ?? (() => {})
  const found = await findBinaries(options.binDir)
  const name = `pg${found.major}`
  const asked = await chooseIdentity(join(resolve(options.dataDir), name))
  const dataHome = await placeData(options.dataDir, asked, notice)
  const directory = join(dataHome, name)
  const identity = await chooseIdentity(directory)
  const binaries = identity ? await runnableBy(found, identity) : found

  if (!(await isInitialised(directory))) {
    mentionOtherVersions(dataHome, found.major, notice)
    await initialise(directory, binaries, identity)
  }
  const password = await readPassword(directory)
  const log = `${directory}.log`
  const cluster = { directory, log, binaries, identity, settings: options.settings ?? {} }
  const addressOf = ({ port }: Server) => `postgres://${superuser}:${password}@${host}:${port}/postgres`
  const { server, version } = await answering(cluster, addressOf)
  return {
    connectionString: addressOf(server),
    host,
    port: server.port,
    dataDir: directory,
    version,
    pid: server.pid,
    adopted: server.adopted,
    stop: (mode = 'fast') => stopPostmaster(directory, server.pid, mode, program(binaries, 'pg_ctl')),
  }
}

/** A server that was adopted may have been killed a moment before and not be gone yet: then another one takes its place. */
async function answering(cluster: Cluster, addressOf: (server: Server) => string): Promise<{ server: Server; version: string }> {
  const server = await adoptOrLaunch(cluster)
  try {
    return { server, version: await proveItIsOurs(addressOf(server), cluster.directory, server) }
  } catch (error) {
    const isGone = () => !isPostmasterOf(cluster.directory, server.pid) || undefined
    if (server.adopted && (await waitFor(goneWithinSeconds, isGone))) return answering(cluster, addressOf)
    throw error
  }
}

/** Only our own server knows the password and this directory; another program that took the port meanwhile does not. */
async function proveItIsOurs(connectionString: string, directory: string, server: Server): Promise<string> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query(
      "select current_setting('data_directory') as directory, current_setting('server_version') as version",
    )
    if (join(rows[0].directory) === directory) return rows[0].version.split(' ')[0]
    throw new Error(`it serves ${rows[0].directory}`)
  } catch (cause) {
    const why = (cause as Error).message
    throw new HoldfastError(
      'database_unavailable',
      `the server on port ${server.port} is not the Postgres of ${directory}: ${why}`,
      { cause },
    )
  } finally {
    await client.end().catch(() => {})
  }
}

function mentionOtherVersions(directory: string, major: number, notice: (line: string) => void): void {
  for (const name of readdirSync(directory).filter((entry) => /^pg\d+$/.test(entry))) {
    notice(
      `a new database is made for Postgres ${major}; the one of Postgres ${name.slice(2)} stays as it is in ${join(directory, name)}`,
    )
  }
}
