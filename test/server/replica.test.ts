import { defineType, Holdfast } from 'holdfast'
import { createServer } from 'holdfast/server'
import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { statement } from '../../src/store/queries.js'
import { ReplicaFirst } from '../../src/store/replica.js'
import { eventually } from '../support/facts.js'
import { adminKey, quiet, serve } from '../support/serving.js'
import { serverPort } from '../support/small-worker.js'
import { startPair } from '../support/standby.js'
import { startProxy } from '../support/tcp-proxy.js'

const mail = defineType({ type: 'mail' })

/** A server on that database, whose lists may come from that replica. */
async function serverWith(connectionString: string, readUrl: string) {
  const holdfast = new Holdfast({ connectionString, readUrl })
  const server = createServer(holdfast, { adminKey, logger: quiet })
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    await server.close()
    await holdfast.close()
  })
  const get = async (path: string) => {
    const answer = await fetch(address + path, { headers: { authorization: `Bearer ${adminKey}` } })
    const text = await answer.text()
    return { status: answer.status, text, json: () => JSON.parse(text) }
  }
  const listed = async () => (await get('/jobs')).json().jobs.length
  const replica = async () => (await get('/status')).json().replica
  return { holdfast, get, listed, replica }
}

async function connectTo(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end().catch(() => {}))
  return client
}

test('lists come from the standby while it is near enough, single jobs and decisions never, and everything goes on when it is gone', async () => {
  const pair = await startPair()
  const scratch = await makeScratchDatabase(pair.primary.connectionString)
  onTestFinished(() => scratch.drop().catch(() => {}))
  const standbyUrl = new URL(pair.standby.connectionString)
  standbyUrl.pathname = new URL(scratch.connectionString).pathname
  const onStandby = await eventually(() => connectTo(standbyUrl.href))
  const { holdfast, get, listed, replica } = await serverWith(scratch.connectionString, standbyUrl.href)
  await holdfast.enqueue(mail, {})
  await eventually(async () => (await listed()) === 1)
  expect(await replica()).toEqual({ used: true, lag_ms: expect.any(Number), why: null })
  const asked = `select count(*)::int as n from pg_stat_activity where application_name = 'holdfast' and datname = current_database()`
  expect((await onStandby.query(asked)).rows[0].n).toBeGreaterThan(0)
  const metrics = (await get('/metrics')).text
  expect(metrics).toMatch(/^holdfast_replica_used 1$/m)
  expect(metrics).toMatch(/^holdfast_replica_lag_seconds [\d.]+$/m)

  // A standby of another database is not read from either when nobody can be asked any more which one it is.
  const proxy = await startProxy(serverPort())
  const astray = new ReplicaFirst({ connectionString: proxy.through(process.env.HOLDFAST_TEST_URL as string) }, standbyUrl.href)
  onTestFinished(() => astray.close())
  const who = () => astray.query<{ identity: string }>(statement('replayedPosition'), [])
  expect((await who())[0]?.identity).not.toContain(onStandby.database)
  const found = ReplicaFirst.stateOf(astray)
  proxy.refuse()
  proxy.cut()
  // It is looked for again, and found to be no other than it was.
  await eventually(async () => {
    await who().catch(() => {})
    return ReplicaFirst.stateOf(astray) !== found
  })
  expect(ReplicaFirst.stateOf(astray)?.why).toBe('it belongs to another server or database')
  await expect(who()).rejects.toThrow()

  // The standby stands still: lists are old for a while, a job that was just enqueued is found all the same.
  await onStandby.query('select pg_wal_replay_pause()')
  await eventually(async () => (await onStandby.query('select pg_get_wal_replay_pause_state() as now')).rows[0].now === 'paused')
  const { id } = await holdfast.enqueue(mail, {})
  expect((await get(`/jobs/${id}`)).status).toBe(200)
  expect(await listed()).toBe(1)
  await eventually(async () => (await replica()).lag_ms > 0)
  // And after ten seconds they come from the primary.
  await eventually(async () => (await listed()) === 2)
  expect(await replica()).toMatchObject({ used: false, why: 'it is more than ten seconds behind' })
  await onStandby.query('select pg_wal_replay_resume()')
  await eventually(async () => (await replica()).used)

  await pair.standby.stop('immediate')
  await holdfast.enqueue(mail, {})
  expect(await listed()).toBe(3)
  await eventually(async () => /^it cannot be read from/.test((await replica()).why))
  expect((await get('/metrics')).text).toMatch(/^holdfast_replica_lag_seconds NaN$/m)
  await pair.startStandby()
  await eventually(async () => (await replica()).used)
}, 120_000)

test('a replica that is no standby, or another database, is not read from and is said', async () => {
  const [serving, other] = [await serve(), await serve()]
  onTestFinished(async () => {
    await serving.end()
    await other.end()
  })
  const url = (one: typeof serving) => `${process.env.HOLDFAST_TEST_URL?.replace(/\/[^/]*$/, '')}/${one.sql.database}`
  const { listed, replica, holdfast } = await serverWith(url(serving), url(other))
  await other.holdfast.enqueue(mail, {})
  expect(await listed()).toBe(0)
  await holdfast.enqueue(mail, {})
  expect(await listed()).toBe(1)
  expect(await replica()).toEqual({ used: false, lag_ms: null, why: 'it is no standby' })
})

test('a server without a replica says so by null, and readUrl must be an address', async () => {
  const serving = await serve()
  onTestFinished(() => serving.end())
  expect((await (await serving.ask('/status')).json()).replica).toBeNull()
  expect(() => new Holdfast({ connectionString: 'postgres://localhost/app', readUrl: 'replica.internal' })).toThrow(
    /readUrl must be an address such as postgres:/,
  )
})
