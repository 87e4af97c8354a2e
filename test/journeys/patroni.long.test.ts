import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import { createServer } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { type PatroniCluster, startPatroni } from '../support/patroni.js'
import { needs } from '../support/programs.js'
import { adminKey, quiet } from '../support/serving.js'

const name = 'Patroni changes its leader, loses it, and gets it back as a standby, and no acknowledged job is lost'
const [patroni, etcd, haproxy, postgres] = [
  needs('patroni', name),
  needs('etcd', name),
  needs('haproxy', name),
  needs('postgresql-15', name),
]

/** Producers of the library and of HTTP beside a worker and a server, which all know only the address of HAProxy. */
async function startLoad(cluster: PatroniCluster) {
  const runs = new Map<string, number>()
  const type = defineType({
    type: 'work',
    maxAttempts: 20,
    backoff: { base: 100, cap: 1_000 },
    run: (_: unknown, { job: { id } }) => void runs.set(id, (runs.get(id) ?? 0) + 1),
  })
  const holdfast = new Holdfast({ connectionString: cluster.url, retryEnqueueFor: '2m' })
  onTestFinished(() => holdfast.close())
  await holdfast.migrate()
  const worker = await startWorker(holdfast, [type], { logger: quiet, lease: '5s', unsafe: true })
  onTestFinished(() => worker.stop({ now: true }))
  const server = createServer(holdfast, { adminKey, logger: quiet })
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => server.close())
  const acknowledged: string[] = []
  let [over, longestMs] = [false, 0]
  const library = async () => {
    while (!over) {
      const begun = performance.now()
      acknowledged.push((await holdfast.enqueue(type, {})).id)
      longestMs = Math.max(longestMs, performance.now() - begun)
      await pause(5)
    }
  }
  const http = async () => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' }
    while (!over) {
      const answer = await fetch(`${address}/jobs`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ type: 'work', payload: {} }),
      })
      const body = (await answer.json()) as { id: string }
      if (answer.ok) acknowledged.push(body.id)
      else expect(answer.status, JSON.stringify(body)).toBe(503)
      await pause(answer.ok ? 5 : 500)
    }
  }
  const producers = Promise.all([library(), http()])
  producers.catch(() => {})
  return {
    holdfast,
    acknowledged,
    runs,
    longestMs: () => longestMs,
    /** Resolves when jobs that are acknowledged from now on have run. */
    async goesOn() {
      const from = acknowledged.length
      await eventually(() => acknowledged.slice(from).filter((id) => runs.has(id)).length > 50, { within: 120_000 })
    },
    async stop() {
      over = true
      await producers
    },
  }
}

test.skipIf(!patroni || !etcd || !haproxy || !postgres)(
  name,
  async () => {
    const [proxy = ''] = blocks(docsPage('how-to/patroni.md'), '')
    const binDir = dirname(postgres as string)
    const programs = { patroni, etcd, haproxy, binDir } as { patroni: string; etcd: string; haproxy: string; binDir: string }
    const cluster = await startPatroni(programs, { proxy, synchronous: true })
    const load = await startLoad(cluster)
    await load.goesOn()
    await cluster.switchOver()
    await load.goesOn()
    const lost = await cluster.leader()
    cluster.kill(lost)
    await eventually(async () => (await cluster.leader()) !== lost, { within: 120_000 })
    await load.goesOn()
    await cluster.bringBack(lost)
    await load.goesOn()
    await load.stop()
    const sql = new pg.Client({ connectionString: cluster.url })
    await sql.connect()
    onTestFinished(() => sql.end())
    const open = "select id from unnest($1::uuid[]) as a (id) where holdfast.status_of(id) is distinct from 'completed'"
    await eventually(async () => expect((await sql.query(open, [load.acknowledged])).rows).toEqual([]))
    expect(load.acknowledged.filter((id) => !load.runs.has(id))).toEqual([])
    console.log(`${load.acknowledged.length} jobs acknowledged; the longest enqueue took ${Math.round(load.longestMs())} ms`)
  },
  600_000,
)
