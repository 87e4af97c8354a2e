import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../src/dev/postgres/index.js'
import { bundlePrograms } from './bundled-programs.js'
import { makeTemporaryDirectory } from './temporary-directory.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Connection string of a superuser; each test file makes a database of its own there. */
    testUrl: string
  }
}

/** One Postgres for the whole run, or the one DATABASE_URL names. Tests find it in HOLDFAST_TEST_URL. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = makeTemporaryDirectory()
  await bundlePrograms(join(tmpdir(), 'programs'))
  const give = (url: string) => {
    process.env.HOLDFAST_TEST_URL = url
    project.provide('testUrl', url)
  }
  if (process.env.DATABASE_URL) {
    give(process.env.DATABASE_URL)
    process.once('exit', directory.remove)
    return async () => {}
  }
  const dataDir = join(tmpdir(), 'postgres')
  // Unsafe after nothing but a crash of the machine, after which no test is of interest. Each scratch database that is made or dropped
  // forces a checkpoint, and after each of those every page would be written to the WAL whole. Tests of what a job costs never counted these.
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '300', shared_buffers: '256MB' }
  const postgres = await startPostgres({ dataDir, settings, onNotice: (line) => console.warn(line) })
  await makeItsPasswordCheap(postgres.connectionString)
  give(postgres.connectionString)
  // A run that is cut short (Ctrl-C, an error in vitest) exits without teardown, and the server would outlive it.
  const cutShort = () => {
    process.kill(postgres.pid, 'SIGQUIT')
    directory.remove()
  }
  process.once('exit', cutShort)
  return async () => {
    process.off('exit', cutShort)
    await postgres.stop('immediate')
    directory.remove()
  }
}

/**
 * A password is made hard to guess by 4,096 rounds of hashing, which whoever connects has to repeat: half of what a connection costs the
 * client, and a run makes tens of thousands. Here nobody guesses. Before PostgreSQL 16 the number is fixed.
 */
async function makeItsPasswordCheap(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query("select current_setting('server_version_num')::int >= 160000 as can")
  if (rows[0].can) {
    await client.query('set scram_iterations = 1')
    await client.query(
      `alter role current_user password ${client.escapeLiteral(decodeURIComponent(new URL(connectionString).password))}`,
    )
  }
  await client.end()
}
