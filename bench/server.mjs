// The one Postgres that everything is measured on, and small questions to it.
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../dist/dev/index.js'
import { forgetDirectory, guardDirectory } from './processes.mjs'

/** As in production where it matters: every commit is durable when it is acknowledged. The rest is the same for everybody. */
export const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  max_connections: '400',
}

export async function startServer() {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
  guardDirectory(directory)
  const postgres = await startPostgres({ dataDir: directory, settings, onNotice: (line) => console.warn(line) })
  return {
    url: postgres.connectionString,
    version: postgres.version,
    cpuMs: () => cpuMsOf(postgres.pid),
    async stop() {
      await postgres.stop('immediate')
      await rm(directory, { recursive: true, force: true })
      forgetDirectory(directory)
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

let made = 0
/** An empty database of its own and a client on it. */
export async function makeDatabase(server) {
  const name = `bench_${process.pid}_${++made}`
  const onServer = async (text) => {
    const client = await connect(server.url)
    await client.query(text)
    await client.end()
  }
  await onServer(`create database ${name}`)
  const url = new URL(server.url)
  url.pathname = `/${name}`
  const client = await connect(url.href)
  return {
    url: url.href,
    client,
    async drop() {
      await client.end()
      await onServer(`drop database ${name} with (force)`)
    },
  }
}

export async function connect(url) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client
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
