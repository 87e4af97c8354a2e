// The primary is lost for good and its synchronous standby takes over: nothing that was acknowledged may be missing.
import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { watchOver } from '../guard.mjs'
import { freePort, keepRunning, systemPostgres } from '../programs.mjs'
import { durable, startServer } from '../server.mjs'
import { Field } from './field.mjs'

const settings = { ...durable, wal_level: 'replica', max_wal_senders: '5', hot_standby: 'on' }

export const promotion = {
  name: 'campaigns/promotion',
  cannotRun: async () =>
    systemPostgres() === undefined && 'there is no pg_basebackup: the embedded PostgreSQL has none, and no other is installed',
  async run(seed, report) {
    const binDir = systemPostgres()
    const server = await startServer({ settings, binDir })
    const field = await Field.open(server)
    let standby
    try {
      standby = await startStandby(field, binDir)
      await makeSynchronous(field)
      await Promise.all([field.startWorker(), field.startWorker(), field.startProducer(seed), field.startCanceller(seed)])
      const facts = []
      if (!(await field.progress(60))) facts.push('I14: nothing went on before the promotion')
      await field.strike('promotion', () => promote(field, standby), undefined, report)
      if (!(await field.progress(60))) facts.push('I14: nothing went on after the promotion')
      return await field.finish(facts)
    } finally {
      await field.close()
      await standby?.end()
      await server.stop()
    }
  },
}

async function startStandby(field, binDir) {
  const { server } = field
  const { password, username } = new URL(server.url)
  const owner = statSync(server.dataDir)
  const identity = process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {}
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-standby-'))
  watchOver(parent)
  if (identity.uid !== undefined) chownSync(parent, owner.uid, owner.gid)
  const directory = join(parent, 'data')
  const copied = spawnSync(
    join(binDir, 'pg_basebackup'),
    ['-h', '127.0.0.1', '-p', String(server.port), '-U', username, '-D', directory, '-R', '-X', 'stream', '-c', 'fast'],
    { ...identity, cwd: '/', env: { PATH: process.env.PATH, PGPASSWORD: decodeURIComponent(password) }, encoding: 'utf8' },
  )
  if (copied.status !== 0) throw new Error(`pg_basebackup: ${copied.stderr}`)
  const port = await freePort()
  const flags = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'synchronous_standby_names=']
  const postgres = keepRunning(
    join(binDir, 'postgres'),
    ['-D', directory, '-p', String(port), ...flags.flatMap((flag) => ['-c', flag])],
    {
      ...identity,
      cwd: '/',
    },
  )
  const url = new URL(server.url)
  url.port = String(port)
  return {
    port,
    url: url.href,
    async end() {
      await postgres.end('SIGQUIT')
      rmSync(parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

/** From now on a commit is acknowledged only when the standby has it too. */
async function makeSynchronous(field) {
  for (let tries = 0; ; tries++) {
    if ((await field.admin(`select from pg_stat_replication where state = 'streaming'`)).length > 0) break
    if (tries === 200) throw new Error('the standby does not stream')
    await pause(100)
  }
  await field.admin(`alter system set synchronous_standby_names = '*'`)
  await field.admin('select pg_reload_conf()')
  for (let tries = 0; tries < 100; tries++) {
    if ((await field.admin(`select from pg_stat_replication where sync_state = 'sync'`)).length > 0) return
    await pause(100)
  }
  throw new Error('the standby did not become synchronous')
}

async function promote(field, standby) {
  await field.server.crash()
  await field.admin('select pg_promote(true, 30)', [], standby.url)
  // The name of the database now leads elsewhere, as a failover manager would have it.
  field.proxy.aim(standby.port)
  field.proxy.cut()
  field.server = { ...field.server, url: standby.url, port: standby.port }
}
