import { rm } from 'node:fs/promises'
import { type RunningPostgres, startPostgres } from 'holdfast/dev'
import { onTestFinished } from 'vitest'
import { newDataDir } from './prepared-cluster.js'

/** A Postgres that belongs to one test, which may crash it. Gone when the test ends. */
export interface OwnServer {
  readonly url: string
  /** As if the power had gone: nothing is flushed, sessions end in the middle of what they do. */
  crash(): Promise<void>
  /** Up again, on the same port. */
  start(): Promise<void>
}

export async function startOwnServer(settings: Record<string, string> = {}): Promise<OwnServer> {
  const dataDir = await newDataDir()
  // Without fsync it is quick, and safe against everything but a crash of the machine itself.
  const start = () => startPostgres({ dataDir, settings: { fsync: 'off', max_connections: '100', ...settings } })
  let postgres: RunningPostgres | undefined
  onTestFinished(async () => {
    await postgres?.stop('immediate')
    await rm(dataDir, { recursive: true, force: true })
  })
  postgres = await start()
  return {
    url: postgres.connectionString,
    crash: async () => postgres?.stop('immediate'),
    start: async () => {
      postgres = await start()
    },
  }
}
