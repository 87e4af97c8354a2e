import { rm } from 'node:fs/promises'
import { type RunningPostgres, startPostgres } from 'holdfast/dev'
import { afterAll, beforeAll } from 'vitest'
import { newDataDir } from './prepared-cluster.js'

/** A server that a test may stop and start again. It keeps its port and its data. */
export interface OwnPostgres {
  readonly url: string
  readonly port: number
  start(): Promise<void>
  stop(mode?: 'fast' | 'immediate'): Promise<void>
}

/** To be called at the top of a file: the server runs for its tests and is gone after them. */
export function useOwnPostgres(settings: Record<string, string> = {}): OwnPostgres {
  let dataDir: string
  let server: RunningPostgres | undefined
  const running = (): RunningPostgres => {
    if (!server) throw new Error('the server is there only for tests and hooks')
    return server
  }
  const start = async () => {
    server = await startPostgres({ dataDir, settings: { fsync: 'off', ...settings } })
  }
  beforeAll(async () => {
    dataDir = await newDataDir()
    await start()
  }, 120_000)
  // Not from inside beforeAll: a hook that is made there never runs.
  afterAll(async () => {
    await server?.stop('immediate')
    if (dataDir) await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }, 60_000)
  return {
    get url() {
      return running().connectionString
    },
    get port() {
      return running().port
    },
    start,
    stop: (mode = 'fast') => running().stop(mode),
  }
}
