import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, readdirSync, statSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { defineType, Holdfast } from 'holdfast'
import { type RunningPostgres, startPostgres } from 'holdfast/dev'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { copyCluster, newDataDir } from '../support/prepared-cluster.js'
import { needs } from '../support/programs.js'
import { quiet } from '../support/serving.js'

/** `debian`: on the PostgreSQL that Debian has, because the one from npm comes without pg_basebackup. */
async function setUp(debian: string | undefined) {
  const first = debian ? join(tmpdir(), `holdfast-own-${randomBytes(6).toString('hex')}`) : await newDataDir()
  const [second, archive] = [`${first}-restored`, `${first}-archive`]
  const servers: RunningPostgres[] = []
  onTestFinished(async () => {
    for (const server of servers) await server.stop('immediate').catch(() => {})
    for (const directory of [first, second, archive])
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  const start = async (dataDir: string, settings: Record<string, string>) => {
    const binDir = debian && { binDir: debian }
    const server = await startPostgres({ dataDir, ...binDir, settings: { fsync: 'off', wal_level: 'replica', ...settings } })
    servers.push(server)
    return server
  }
  const clusterIn = (dataDir: string) => join(dataDir, readdirSync(dataDir).find((name) => /^pg\d+$/.test(name)) as string)
  return { first, second, archive, start, clusterIn }
}

async function open(url: string) {
  const holdfast = new Holdfast({ connectionString: url })
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await holdfast.close()
    await client.end().catch(() => {})
  }
  onTestFinished(close)
  const ask = async (sql: string) => (await client.query(sql)).rows[0]
  return { holdfast, ask, close }
}

interface Backup {
  to: string
  cluster: string
  uid: number
  gid: number
}

async function takeBaseBackup(binDir: string, { connectionString }: RunningPostgres, { to, cluster, uid, gid }: Backup) {
  const { port, username, password } = new URL(connectionString)
  await mkdir(to)
  chownSync(to, uid, gid)
  const args = ['-h', '127.0.0.1', '-p', port, '-U', username, '-D', join(to, basename(cluster)), '-X', 'stream', '-c', 'fast']
  const env = { PATH: process.env.PATH, PGPASSWORD: decodeURIComponent(password) }
  const identity = process.getuid?.() === 0 ? { uid, gid } : {}
  await promisify(execFile)(join(binDir, 'pg_basebackup'), args, { ...identity, cwd: '/', env })
}

const restored =
  'an installation restored to a point in time starts paused and says so, and no lease has a number that one had before'
const online = `${restored}: from a pg_basebackup of Debian's PostgreSQL that was taken while jobs ran`
const postgres15 = needs('postgresql-15', online)

test(restored, () => restores(undefined))
test.skipIf(!postgres15)(online, () => restores(dirname(postgres15 as string)), 120_000)

async function restores(debian: string | undefined) {
  const { first, second, archive, start, clusterIn } = await setUp(debian)
  const mail = defineType({ type: 'mail', run: async () => {} })
  const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` }
  let server = await start(first, archiving)
  await mkdir(archive)
  const { uid, gid } = statSync(clusterIn(first))
  chownSync(archive, uid, gid)
  const scratch = await makeScratchDatabase(server.connectionString)
  const path = new URL(scratch.connectionString).pathname
  const urlOf = ({ connectionString }: RunningPostgres) => Object.assign(new URL(connectionString), { pathname: path }).href

  if (!debian) {
    // A backup of a server that was stopped in good order is the same as one of pg_basebackup without what ran meanwhile.
    await server.stop('fast')
    await copyCluster(first, second)
    server = await start(first, archiving)
  }
  const before = await open(urlOf(server))
  const worker = await startWorker(before.holdfast, [mail], { logger: quiet, poll: '10ms' })
  if (debian) {
    let over = false
    const load = (async () => {
      while (!over) await before.holdfast.wait(await before.holdfast.enqueue(mail, { to: 'meanwhile' }))
    })()
    await takeBaseBackup(debian, server, { to: second, cluster: clusterIn(first), uid, gid })
    over = true
    await load
  }
  const early = await before.holdfast.enqueue(mail, { to: 'early' })
  await before.holdfast.wait(early)
  await worker.stop({ now: true })
  // Both run after the point of the restore.
  const waiting = await before.holdfast.enqueue(mail, { to: 'waiting' })
  await before.ask(`select pg_create_restore_point('before')`)
  const later = await startWorker(before.holdfast, [mail], { logger: quiet, poll: '10ms' })
  await before.holdfast.wait(waiting)
  const after = await before.holdfast.enqueue(mail, { to: 'after' })
  await before.holdfast.wait(after)
  await later.stop({ now: true })
  const { last_value: highest } = await before.ask('select last_value from holdfast.lease_seq')
  const { file } = await before.ask('select pg_walfile_name(pg_switch_wal()) as file')
  await eventually(async () => (await before.ask('select last_archived_wal as file from pg_stat_archiver')).file >= file)
  await before.close()
  await server.stop('fast')

  const signal = join(clusterIn(second), 'recovery.signal')
  await writeFile(signal, '')
  chownSync(signal, uid, gid)
  const target = { recovery_target_name: 'before', recovery_target_action: 'promote' }
  const backAgain = await start(second, { restore_command: `cp ${archive}/%f %p`, ...target })
  const now = await eventually(() => open(urlOf(backAgain)))
  await eventually(async () => (await now.ask('select pg_is_in_recovery() as is')).is === false)
  const again = await startWorker(now.holdfast, [mail], { logger: quiet, poll: '10ms' })
  onTestFinished(() => again.stop({ now: true }))
  expect(again.health().warnings).toContainEqual(expect.stringContaining('restored to recovery_target_name before'))
  expect(await now.holdfast.job(after.id)).toBeUndefined()
  expect(await now.holdfast.job(early.id)).toMatchObject({ status: 'completed' })
  expect((await now.holdfast.explain(waiting.id))?.gates).toContainEqual(expect.objectContaining({ gate: 'type_paused' }))
  await now.holdfast.flow.resumeType('mail', { by: 'ada' })
  await now.holdfast.wait(waiting.id, { timeout: '20s' })
  const { last_value: lease } = await now.ask('select last_value from holdfast.lease_seq')
  expect(BigInt(lease)).toBeGreaterThan(BigInt(highest) + 1_000_000n)
  expect(
    await now.ask(`select count(*)::int as n from holdfast.audit_log where action = 'pause_type' and actor = 'holdfast'`),
  ).toEqual({ n: 1 })
}
