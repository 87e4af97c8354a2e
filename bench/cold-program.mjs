// A program as short as a user's first: it loads one system, and stores a job or runs one. It says when that has happened, by the clock
// that all processes of a machine share. What it loads is part of what is measured, so nothing else is.
const { system, role, url, package: own } = JSON.parse(process.argv[2])
const payload = { text: 'x'.repeat(189) }
const say = () => process.send({ at: Number(process.hrtime.bigint()) / 1e6 })

const programs = {
  holdfast: {
    async producer() {
      const { Holdfast } = await import(`${own}/index.js`)
      await new Holdfast({ connectionString: url }).enqueue('bench', payload)
      say()
    },
    async worker() {
      const { defineType, Holdfast } = await import(`${own}/index.js`)
      const { startWorker } = await import(`${own}/worker/index.js`)
      const logger = { info() {}, warn() {}, error: console.error }
      await startWorker(new Holdfast({ connectionString: url }), [defineType({ type: 'bench', run: say })], { logger })
    },
  },
  'graphile-worker': {
    async producer() {
      const { makeWorkerUtils } = await import('graphile-worker')
      const utils = await makeWorkerUtils({ connectionString: url })
      await utils.addJob('bench', payload)
      say()
    },
    async worker() {
      const { Logger, run } = await import('graphile-worker')
      await run({ connectionString: url, logger: new Logger(() => () => {}), taskList: { bench: say } })
    },
  },
  'pg-boss': {
    async producer() {
      const { PgBoss } = await import('pg-boss')
      const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false })
      await boss.start()
      await boss.send('bench', payload)
      say()
    },
    async worker() {
      const { PgBoss } = await import('pg-boss')
      const boss = new PgBoss({ connectionString: url, schedule: false, supervise: false })
      await boss.start()
      await boss.work('bench', async () => say())
    },
  },
  'bullmq-redis': {
    async producer() {
      const { Queue } = await import('bullmq')
      await new Queue('bench', { connection: redis() }).add('bench', payload)
      say()
    },
    async worker() {
      const { Worker } = await import('bullmq')
      new Worker('bench', async () => say(), { connection: redis() })
    },
  },
  /** The least that any of those on Postgres has to do: the driver, a connection, a statement. */
  floor: {
    async producer() {
      const client = await connect()
      await client.query('insert into log (payload) values ($1)', [payload])
      say()
    },
    async worker() {
      const client = await connect()
      await client.query('update mark set at = at + 1')
      say()
    },
  },
}

const redis = () => ({ host: '127.0.0.1', port: Number(new URL(url).port), maxRetriesPerRequest: null })

async function connect() {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

process.on('disconnect', () => process.exit())
await programs[system][role]()
