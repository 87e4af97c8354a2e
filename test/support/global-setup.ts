import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../src/dev/postgres/index.js'
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
  // Safe against nothing but a crash of the machine, after which no test is of interest.
  const settings = { fsync: 'off', max_connections: '300', shared_buffers: '256MB' }
  const postgres = await startPostgres({ dataDir, settings, onNotice: (line) => console.warn(line) })
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
