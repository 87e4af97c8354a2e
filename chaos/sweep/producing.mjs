// Operations of those who enqueue. Each does its work once; what a failed call leaves is settled by the ledger.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { everything } from '../wire/trap.mjs'

/** Opens a connection of the caller's own, ready for a transaction. */
async function withClient(url, use) {
  const client = new pg.Client({ connectionString: url, query_timeout: 5_000, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return await use(client)
  } finally {
    await Promise.race([client.end().catch(() => {}), new Promise((resolve) => setTimeout(resolve, 200))])
    client.connection?.stream?.destroy()
  }
}

/** As callers do whose call failed: ask again, with the same key or id, until they are told. */
async function untilTold(ask) {
  for (let tries = 0; tries < 4; tries++) if (await ask()) return
}

function newId() {
  const hex = Date.now().toString(16).padStart(12, '0') + randomBytes(10).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

const many = (count, more = {}) => Array.from({ length: count }, (_, n) => ({ n, ...more }))
const appTable = 'create table app (call integer)'

/** A caller's transaction with a row of its own in it; `end` is how it ends. */
const transactional = (end) => (stage, url) =>
  stage.enqueue(
    (requests) =>
      withClient(url, async (tx) => {
        const call = requests[0].payload.call
        if (end === 'rollback') stage.note({ kind: 'rolled_back', call, jobs: [] })
        await tx.query('begin')
        await tx.query('insert into app values ($1)', [call])
        const answers = await stage.producer(url).enqueueMany(requests, { tx })
        await tx.query(end)
        return end === 'commit' ? answers : []
      }),
    many(2),
  )

/** The caller's own row is the truth about the caller's commit. */
async function jobsExistWithTheirTransaction(stage) {
  const [{ rows, jobs }] = await stage.sql(
    `select (select count(*)::int from app) as rows, (select count(*)::int from holdfast.bodies) as jobs`,
  )
  return rows * 2 === jobs ? [] : [`I9: ${rows} transactions were committed, and ${jobs} jobs of two each exist`]
}

export const producing = [
  {
    name: 'enqueue',
    watch: everything,
    perform: (stage, url) => stage.enqueue((requests) => stage.producer(url).enqueueMany(requests), many(1)),
  },
  {
    name: 'enqueue-delayed',
    watch: everything,
    perform: (stage, url) =>
      stage.enqueue(
        (requests) => stage.producer(url).enqueueMany(requests),
        many(1, { options: { delay: 700, maxAttempts: 20 } }),
      ),
  },
  {
    name: 'enqueue-with-key',
    watch: everything,
    perform(stage, url) {
      const producer = stage.producer(url)
      const spec = many(1, { options: { idempotencyKey: 'one', maxAttempts: 20 } })
      return untilTold(() => stage.enqueue((requests) => producer.enqueueMany(requests), spec))
    },
  },
  {
    name: 'enqueue-own-id',
    watch: everything,
    perform(stage, url) {
      const producer = stage.producer(url)
      const spec = many(1, { options: { id: newId(), maxAttempts: 20 } })
      return untilTold(() => stage.enqueue((requests) => producer.enqueueMany(requests), spec))
    },
  },
  {
    name: 'batch',
    watch: everything,
    perform: (stage, url) => stage.enqueue((requests) => stage.producer(url).enqueueMany(requests), many(20)),
  },
  {
    // Larger than one statement may be, so that it goes as a transaction of several.
    name: 'batch-in-parts',
    watch: everything,
    perform: (stage, url) =>
      stage.enqueue((requests) => stage.producer(url).enqueueMany(requests), many(130, { text: 'x'.repeat(63_000) })),
  },
  {
    name: 'batch-paced',
    watch: everything,
    perform: (stage, url) =>
      stage.enqueue((requests) => stage.producer(url).enqueueMany(requests, { pace: 5 }), many(4), { pace: 5 }),
  },
  {
    // Single enqueues that come at the same time go in one statement; each of their callers is told.
    name: 'enqueue-together',
    watch: everything,
    perform(stage, url) {
      const producer = stage.producer(url)
      const one = () =>
        stage.enqueue(async ([{ type, payload, ...options }]) => [await producer.enqueue(type, payload, options)], many(1))
      return Promise.all([one(), one(), one(), one(), one()])
    },
  },
  {
    name: 'transactional',
    watch: everything,
    prepare: (stage) => stage.sql(appTable),
    perform: transactional('commit'),
    verify: jobsExistWithTheirTransaction,
  },
  {
    name: 'rolled-back',
    watch: everything,
    prepare: (stage) => stage.sql(appTable),
    perform: transactional('rollback'),
    verify: jobsExistWithTheirTransaction,
  },
  {
    name: 'enqueue-by-sql',
    watch: everything,
    async prepare(stage) {
      await stage.producer().registerTypes([stage.work])
    },
    perform: (stage, url) =>
      stage.enqueue(
        ([{ payload }]) =>
          withClient(url, async (client) => {
            const text = `select id::text, status from holdfast.enqueue('work', $1, '{"max_attempts": 20}')`
            return (await client.query(text, [JSON.stringify(payload)])).rows
          }),
        // In the order in which jsonb keeps keys: what it does to them is documented.
        [{}],
      ),
  },
]
