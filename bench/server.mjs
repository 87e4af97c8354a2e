// The Postgres that is measured, and small questions to it.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../dist/dev/index.js'
import { makeScratchDatabase } from '../dist/testing/index.js'

/** As in production where it matters: every commit is durable when it is acknowledged. */
export const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  max_connections: '100',
}

export async function startServer() {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
  const postgres = await startPostgres({ dataDir, settings, onNotice: (line) => console.warn(line) })
  // It would outlive a run that is cut short.
  const cutShort = () => {
    process.kill(postgres.pid, 'SIGQUIT')
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  process.once('exit', cutShort)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  return {
    url: postgres.connectionString,
    version: postgres.version,
    cpuMs: () => cpuMsOf(postgres.pid),
    async stop() {
      process.off('exit', cutShort)
      await postgres.stop('fast')
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/**
 * CPU time of the server so far, all its processes together, those that have ended too. On a machine that others use as
 * well it says more than the clock. Only Linux tells; undefined elsewhere.
 */
function cpuMsOf(postmaster) {
  if (process.platform !== 'linux') return undefined
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid)
    if (Number(pid) === postmaster) ticks += fields[11] + fields[12] + fields[13] + fields[14]
    else if (fields?.[1] === postmaster) ticks += fields[11] + fields[12]
  }
  return ticks * 10
}

/** The numbers behind the name of the program, which may hold anything; undefined when the process has just ended. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
  } catch {
    return undefined
  }
}

/** Runs `work` with a migrated database of its own and a client on it. */
export async function withDatabase(server, work) {
  const scratch = await makeScratchDatabase(server.url)
  const client = new pg.Client({ connectionString: scratch.connectionString })
  await client.connect()
  try {
    return await work(scratch.connectionString, client)
  } finally {
    await client.end()
    await scratch.drop()
  }
}

/** What the server has done so far. Asking costs no transaction id. */
export async function readCounters(client) {
  await client.query('select pg_stat_force_next_flush()').catch(() => {})
  const { rows } = await client.query(`
    select pg_current_wal_lsn() - '0/0'::pg_lsn as wal, pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xids, xact_commit as commits
    from pg_stat_database where datname = current_database()`)
  const { wal, xids, commits } = rows[0]
  return { wal: Number(wal), xids: Number(xids), commits: Number(commits) }
}
