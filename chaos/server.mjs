// The Postgres that faults fall on, made for the run and gone after it.
import { readFileSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startPostgres } from 'holdfast/dev'
import { watchOver } from './guard.mjs'

/** As in production where it matters: every commit is durable when it is acknowledged. */
export const durable = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', max_connections: '200' }

/**
 * Where sessions and their messages are what breaks, and never the machine or the server, the disk has no say in the
 * result: a database for each of a thousand cases would only wait for it.
 */
export const quick = { fsync: 'off', max_connections: '400', shared_buffers: '128MB', autovacuum: 'off' }

export async function startServer({ settings = durable, dataDir: given, binDir } = {}) {
  const dataDir = given ?? (await mkdtemp(join(tmpdir(), 'holdfast-chaos-')))
  const options = { dataDir, settings, ...(binDir ? { binDir } : {}) }
  watchOver(dataDir)
  let postgres = await startPostgres(options)
  // Where root's directory is none that it may enter, the server lives elsewhere.
  watchOver(dirname(postgres.dataDir))
  // It would outlive a run that is cut short.
  const cutShort = () => {
    try {
      process.kill(postgres.pid, 'SIGQUIT')
    } catch {
      // It was down at that moment.
    }
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
  process.once('exit', cutShort)
  return {
    dataDir: postgres.dataDir,
    version: postgres.version,
    settings,
    get url() {
      return postgres.connectionString
    },
    get port() {
      return postgres.port
    },
    get pid() {
      return postgres.pid
    },
    /** Sessions end in the middle of what they do; nothing is flushed. */
    async crash() {
      await postgres.stop('immediate')
    },
    /** Up again, on the same port. */
    async restart() {
      postgres = await startPostgres(options)
    },
    async stop() {
      process.off('exit', cutShort)
      tellOfCrashes(`${postgres.dataDir}.log`)
      await postgres.stop('immediate')
      await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

/** A server that broke by itself is no fault of the plan, and explains what would otherwise be a riddle. */
function tellOfCrashes(log) {
  const lines = readFileSync(log, 'utf8').split('\n')
  for (const line of lines.filter((text) => /PANIC|was terminated by signal/.test(text)))
    console.log(`  the server says: ${line}`)
}
