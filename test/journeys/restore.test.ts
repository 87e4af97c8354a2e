import { chownSync, readdirSync, statSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defineType, Holdfast } from 'holdfast'
import { type RunningPostgres, startPostgres } from 'holdfast/dev'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { copyCluster, newDataDir } from '../support/prepared-cluster.js'
import { quiet } from '../support/serving.js'

async function setUp() {
  const first = await newDataDir()
  const [second, archive] = [`${first}-restored`, `${first}-archive`]
  const servers: RunningPostgres[] = []
  onTestFinished(async () => {
    for (const server of servers) await server.stop('immediate').catch(() => {})
    for (const directory of [first, second, archive])
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  const start = async (dataDir: string, settings: Record<string, string>) => {
    const server = await startPostgres({ dataDir, settings: { fsync: 'off', wal_level: 'replica', ...settings } })
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

test('an installation restored to a point in time starts paused and says so, and no lease has a number that one had before', async () => {
  const { first, second, archive, start, clusterIn } = await setUp()
  const mail = defineType({ type: 'mail', run: async () => {} })
  const archiving = { archive_mode: 'on', archive_command: `cp %p ${archive}/%f` }
  let server = await start(first, archiving)
  await mkdir(archive)
  const { uid, gid } = statSync(clusterIn(first))
  chownSync(archive, uid, gid)
  const scratch = await makeScratchDatabase(server.connectionString)
  const path = new URL(scratch.connectionString).pathname
  const urlOf = ({ connectionString }: RunningPostgres) => Object.assign(new URL(connectionString), { pathname: path }).href

  // A backup of a server that was stopped in good order is the same as one of pg_basebackup without what ran meanwhile.
  await server.stop('fast')
  await copyCluster(first, second)
  server = await start(first, archiving)
  const before = await open(urlOf(server))
  const worker = await startWorker(before.holdfast, [mail], { logger: quiet, poll: '10ms' })
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
  const restored = await start(second, { restore_command: `cp ${archive}/%f %p`, ...target })
  const now = await eventually(() => open(urlOf(restored)))
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
})
