import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../src/dev/postgres/index.js'
import { bundlePrograms } from './bundled-programs.js'
import { copyCluster, offerCluster } from './prepared-cluster.js'
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
  // Unsafe after nothing but a crash of the machine, after which no test is of interest. Each scratch database that is made or dropped
  // forces a checkpoint, and after each of those every page would be written to the WAL whole. Tests of what a job costs never counted these.
  // And no vacuum or analyze that comes by whenever it likes: it takes the processor, and a plan or a count may change under a test.
  const unsafe = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' }
  const settings = { ...unsafe, max_connections: '300', shared_buffers: '256MB' }
  const start = (name: string) =>
    startPostgres({ dataDir: join(tmpdir(), name), settings, onNotice: (line) => console.warn(line) })
  // The first server only makes the cluster, of which this run's server and those of single tests are copies.
  const first = await start('prepared')
  await makeItsPasswordCheap(first.connectionString).finally(() => first.stop())
  await askForItInPlain(first.dataDir)
  const prepared = dirname(first.dataDir)
  await copyCluster(prepared, join(tmpdir(), 'postgres')).catch(() => {})
  offerCluster(prepared)
  const postgres = await start('postgres')
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

/** The password is still asked for, but not proved by SCRAM, which takes a millisecond of both sides for each connection. */
async function askForItInPlain(dataDir: string): Promise<void> {
  const rules = join(dataDir, 'pg_hba.conf')
  await writeFile(rules, (await readFile(rules, 'utf8')).replaceAll('scram-sha-256', 'password'))
}
