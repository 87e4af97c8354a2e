/**
 * Makes sure that the worker's leases are renewed, from a thread of its own, so that a handler that blocks the event loop for minutes does
 * not lose its job. For each heartbeat the thread first asks the worker, which has a connection already. Where the worker or its
 * database does not answer in time, the thread opens a connection of its own, and keeps it until the worker answers again. The thread stops renewing
 * when the event loop of the worker is blocked for longer than the longest timeout of its types: the timeouts cannot fire then, and no other worker
 * would ever get the jobs.
 * The price is about 10 MB of memory per worker, and one connection while its event loop is blocked. The driver and the statements are
 * loaded for the first of those connections: most threads never make one, and loading them is most of what a thread costs at its start.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type pg from 'pg'
import { monotonicMs, sleep } from '../clock.js'
import { cutOff } from '../store/connections.js'
import { ReadCommitted } from '../store/read-committed.js'
import { inSchema } from '../store/schema-name.js'
import { asText } from '../store/transaction.js'
import {
  answerOfWorkerMs,
  type FromHeartbeat,
  type HeartbeatSettings,
  heartbeatPatience,
  readBeat,
  type ToHeartbeat,
} from './heartbeat-messages.js'

const { worker, intervalMs, leaseMs, patienceMs, connection, schema } = workerData as HeartbeatSettings
const afterTroubleMs = Math.min(1_000, intervalMs)

const held = new Map<string, number>()
const readCommitted = new ReadCommitted()
let client: pg.Client | undefined
let timer: NodeJS.Timeout | undefined
let stopping = false
let beating: Promise<void> = Promise.resolve()
let workerSpokeAt = monotonicMs()
/** Told whether the worker has renewed its leases itself. */
let workerRenewed: (ok: boolean) => void = () => {}
/** When the database last answered a claim of the worker. */
let lookedAt: number | undefined

function tell(message: FromHeartbeat): void {
  parentPort?.postMessage(message)
}

parentPort?.on('message', (message: ToHeartbeat) => {
  workerSpokeAt = monotonicMs()
  switch (message.kind) {
    case 'hold':
      held.set(message.lease, message.leaseMs)
      return
    case 'release':
      for (const lease of message.leases) held.delete(lease)
      return
    case 'alive':
      lookedAt = message.lookedMsAgo === null ? undefined : monotonicMs() - message.lookedMsAgo
      return
    case 'renewed':
      return workerRenewed(message.ok)
    case 'stop':
      stopping = true
      clearTimeout(timer)
      workerRenewed(true)
      void beating.then(disconnect).then(() => {
        tell({ kind: 'stopped' })
        parentPort?.close()
      })
  }
})

async function beat(): Promise<void> {
  if (monotonicMs() - workerSpokeAt > patienceMs) return schedule(intervalMs)
  if (await renewedByWorker()) {
    await disconnect()
    return schedule(intervalMs)
  }
  // Without leases there is nothing to lose, and the worker says itself what is wrong.
  if (held.size === 0) return schedule(afterTroubleMs)
  const asked = [...held]
  try {
    // Before the connection: one that fails while we wait for something else is forgotten.
    const text = await renewal()
    client ??= await connect()
    const lookedMsAgo = lookedAt === undefined ? null : monotonicMs() - lookedAt
    // How late the event loop is and how many connections are open, only the worker knows: what it said last stands.
    const vitals = [null, process.memoryUsage.rss(), null]
    const values = asText([worker, asked.map(([lease]) => lease), asked.map(([, ms]) => ms), lookedMsAgo, ...vitals])
    const { rows } = await readCommitted.run(client, { text, values, query_timeout: patience().answerMs } as pg.QueryConfig)
    tell({ kind: 'beat' })
    const { lost, cancelled } = readBeat(asked, rows, held)
    for (const lease of lost) held.delete(lease)
    if (lost.length > 0) tell({ kind: 'lost', leases: lost })
    if (cancelled.length > 0) tell({ kind: 'cancelled', jobs: cancelled })
    schedule(intervalMs)
  } catch (error) {
    tell({ kind: 'trouble', message: error instanceof Error ? error.message : String(error) })
    await disconnect()
    schedule(afterTroubleMs)
  }
}

function renewedByWorker(): Promise<boolean> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(false), answerOfWorkerMs(intervalMs))
    workerRenewed = (ok) => {
      clearTimeout(late)
      resolve(ok)
    }
    tell({ kind: 'due' })
  })
}

function schedule(ms: number): void {
  if (stopping) return
  timer = setTimeout(() => {
    beating = beat()
  }, ms)
}

function patience(): { connectMs: number; answerMs: number } {
  return heartbeatPatience([leaseMs, ...held.values()])
}

/** Not prepared by name, so that it works through any pooler; once every few seconds the planning costs nothing. */
async function renewal(): Promise<string> {
  const { statement } = await import('../store/queries.js')
  return inSchema(statement('renewLeases').text, schema)
}

async function connect(): Promise<pg.Client> {
  const { default: driver } = await import('pg')
  const fresh = new driver.Client({
    ...connection,
    connectionTimeoutMillis: patience().connectMs,
    application_name: `holdfast heartbeat of worker ${worker}`,
  })
  fresh.on('error', () => {
    if (client === fresh) client = undefined
  })
  await fresh.connect()
  readCommitted.ask()
  return fresh
}

async function disconnect(): Promise<void> {
  const old = client
  client = undefined
  if (!old) return
  // end() waits for the server; a connection that does not answer is cut off.
  await Promise.race([old.end().catch(() => {}), sleep(500, { unref: true })])
  cutOff(old)
}

beating = beat()
