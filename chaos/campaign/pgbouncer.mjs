// The whole fleet behind PgBouncer in transaction mode: what is sent between two transactions may reach any session.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { findProgram, freePort, keepRunning, nobody } from '../programs.mjs'
import { seeded } from '../seeded.mjs'
import { durable, startServer } from '../server.mjs'
import { faults } from './faults.mjs'
import { Field } from './field.mjs'

const plan = ['kill-backends', 'cut-off', 'kill-worker', 'slow-network', 'kill-backends', 'crash-postgres']

export const pgbouncer = {
  name: 'campaigns/pgbouncer',
  cannotRun: async () => findProgram('pgbouncer') === undefined && 'pgbouncer is not installed',
  async run(seed, report) {
    const random = seeded(seed)
    const server = await startServer({ settings: durable })
    const settings = { worker: { listen: false }, holdfast: { preparedStatements: false } }
    const field = await Field.open(server, { through: startBouncer, settings })
    try {
      await Promise.all([field.startWorker(), field.startWorker(), field.startProducer(seed), field.startCanceller(seed)])
      const facts = []
      for (const name of plan) {
        if (!(await field.progress())) facts.push(`I14: nothing went on before ${name}`)
        await field.strike(name, faults[name], random, report)
      }
      await field.progress()
      return await field.finish(facts)
    } finally {
      await field.close()
      await server.stop()
    }
  },
}

async function startBouncer(field) {
  const { username, password, pathname } = new URL(field.server.url)
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-pgbouncer-'))
  const port = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
${pathname.slice(1)} = host=127.0.0.1 port=${field.proxy.port} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 200
server_login_retry = 1
query_wait_timeout = 5
`,
  )
  chmodSync(directory, 0o755)
  const bouncer = keepRunning(findProgram('pgbouncer'), ['-q', file], nobody())
  field.between.push(async () => {
    await bouncer.end()
    rmSync(directory, { recursive: true, force: true })
  })
  const url = new URL(field.server.url)
  url.port = String(port)
  for (let tries = 0; ; tries++) {
    const client = new pg.Client({ connectionString: url.href })
    client.on('error', () => {})
    const up = await client.connect().then(() => true, () => false) // biome-ignore format: one thought
    await client.end().catch(() => {})
    if (up) return url.href
    if (tries === 100) throw new Error(`pgbouncer does not answer: ${bouncer.complaints()}`)
    await pause(50)
  }
}
