import { chownSync, readdirSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RunningPostgres, startPostgres } from 'holdfast/dev'
import { onTestFinished } from 'vitest'
import { copyCluster, newDataDir } from './prepared-cluster.js'

const settings = { fsync: 'off', wal_level: 'replica', max_wal_senders: '5', hot_standby: 'on' }

/** A primary and its streaming standby, each of which may be stopped and started. Gone when the test ends. */
export interface Pair {
  readonly primary: RunningPostgres
  readonly standby: RunningPostgres
  startStandby(): Promise<void>
}

export async function startPair(): Promise<Pair> {
  const [first, second] = [await newDataDir(), `${await newDataDir()}-standby`]
  const running = new Map<string, RunningPostgres>()
  const start = async (dataDir: string, more: Record<string, string> = {}) => {
    running.set(dataDir, await startPostgres({ dataDir, settings: { ...settings, ...more } }))
  }
  onTestFinished(async () => {
    for (const server of running.values()) await server.stop('immediate').catch(() => {})
    for (const dataDir of [first, second]) await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  const of = (dataDir: string) => running.get(dataDir) as RunningPostgres
  await start(first)
  // A cluster that was stopped in good order needs no backup to be copied.
  await of(first).stop('fast')
  await copyCluster(first, second)
  const cluster = join(second, readdirSync(second).find((name) => /^pg\d+$/.test(name)) as string)
  await writeFile(join(cluster, 'standby.signal'), '')
  const { uid, gid } = statSync(cluster)
  chownSync(join(cluster, 'standby.signal'), uid, gid)
  await start(first)
  const { username, password, port } = new URL(of(first).connectionString)
  const conninfo = `host=127.0.0.1 port=${port} user=${username} password=${decodeURIComponent(password)}`
  const startStandby = () => start(second, { primary_conninfo: conninfo })
  await startStandby()
  return {
    get primary() {
      return of(first)
    },
    get standby() {
      return of(second)
    },
    startStandby,
  }
}
