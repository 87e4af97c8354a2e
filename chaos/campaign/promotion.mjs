// The primary is lost for good and its standby takes over. Of a synchronous one nothing that was acknowledged may be missing; an
// asynchronous one loses what had not reached it, and everything else must be as if nothing had happened.
import { spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { now } from '../evidence/ledger.mjs'
import { watchOver } from '../guard.mjs'
import { freePort, keepRunning, systemPostgres } from '../programs.mjs'
import { durable, startServer } from '../server.mjs'
import { Field } from './field.mjs'
import { lossOf, withoutLost } from './loss.mjs'

const settings = { ...durable, wal_level: 'replica', max_wal_senders: '5', hot_standby: 'on' }

/** `strike` promotes, and answers with the moment from which on what was acknowledged may be lost. */
const promotionOf = (name, prepare, strike) => ({
  name: `campaigns/${name}`,
  cannotRun: async () =>
    systemPostgres() === undefined && 'there is no pg_basebackup: the embedded PostgreSQL has none, and no other is installed',
  async run(seed, report) {
    const binDir = systemPostgres()
    const server = await startServer({ settings, binDir })
    const field = await Field.open(server)
    let standby
    try {
      standby = await startStandby(field, binDir)
      await streams(field)
      await prepare(field)
      await Promise.all([field.startWorker(), field.startWorker(), field.startProducer(seed), field.startCanceller(seed)])
      const facts = []
      if (!(await field.progress(60))) facts.push('I14: nothing went on before the promotion')
      let lostFrom
      await field.strike(name, async () => { lostFrom = await strike(field, standby) }, undefined, report) // biome-ignore format: one thought
      if (!(await field.progress(60))) facts.push('I14: nothing went on after the promotion')
      return await field.finish(facts, (history) => lossIn(history, lostFrom, report))
    } finally {
      await field.close()
      await standby?.end()
      await server.stop()
    }
  },
})

export const promotion = promotionOf('promotion', makeSynchronous, async (field, standby) => {
  await promote(field, standby)
  return undefined
})

export const promotionAsynchronous = promotionOf(
  'promotion-asynchronous',
  async () => {},
  async (field, standby) => {
    const lostFrom = now()
    await field.admin(`alter system set primary_conninfo = ''`, [], standby.url)
    await field.admin('select pg_reload_conf()', [], standby.url)
    await untilRows(
      field,
      `select where not exists (select from pg_stat_wal_receiver)`,
      'the standby goes on receiving',
      standby.url,
    )
    await field.progress(40)
    await promote(field, standby)
    return lostFrom
  },
)

function lossIn(history, lostFrom, report) {
  if (lostFrom === undefined) return history
  const loss = lossOf(history, lostFrom)
  report.asynchronousLoss = loss
  console.log(
    `  after the standby had stopped receiving, ${loss.acknowledged} jobs were acknowledged, and ${loss.lost} of them are lost`,
  )
  if (loss.lost === 0) throw new Error('nothing was lost, so this campaign has shown nothing')
  return withoutLost(history, lostFrom)
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

async function untilRows(field, text, otherwise, url) {
  for (let tries = 0; tries < 200; tries++) {
    if ((await field.admin(text, [], url)).length > 0) return
    await pause(100)
  }
  throw new Error(otherwise)
}

const streams = (field) =>
  untilRows(field, `select from pg_stat_replication where state = 'streaming'`, 'the standby does not stream')

/** From now on a commit is acknowledged only when the standby has it too. */
async function makeSynchronous(field) {
  await field.admin(`alter system set synchronous_standby_names = '*'`)
  await field.admin('select pg_reload_conf()')
  await untilRows(field, `select from pg_stat_replication where sync_state = 'sync'`, 'the standby did not become synchronous')
}

async function promote(field, standby) {
  await field.server.crash()
  await field.admin('select pg_promote(true, 30)', [], standby.url)
  // The name of the database now leads elsewhere, as a failover manager would have it.
  field.proxy.aim(standby.port)
  field.proxy.cut()
  field.server = { ...field.server, url: standby.url, port: standby.port }
}
