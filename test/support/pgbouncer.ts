import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { eventually } from './facts.js'
import { freePort } from './free-port.js'

/** A PgBouncer in transaction mode before that database: what is sent between two transactions may reach any session. */
export async function startPgBouncer(program: string, databaseUrl: string, poolSize: number): Promise<string> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(program, databaseUrl, poolSize)
    } catch (error) {
      // Any connection of this machine may have taken the port since it was free.
      if (!(error instanceof Ended) || tries === 3) throw error
    }
  }
}

class Ended extends Error {}

async function startOnce(program: string, databaseUrl: string, poolSize: number): Promise<string> {
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl)
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-pgbouncer-'))
  const port = await freePort()
  const configuration = join(directory, 'pgbouncer.ini')
  writeFileSync(
    configuration,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 200
`,
  )
  // It refuses to run as root, and must then be able to read its file as somebody else.
  const isRoot = process.getuid?.() === 0
  chmodSync(directory, 0o755)
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout)
  const child: ChildProcess = spawn(program, ['-q', configuration], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(isRoot ? { uid: id('-u'), gid: id('-g') } : {}),
  })
  let complained = ''
  child.stderr?.on('data', (text) => {
    complained += text
  })
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(directory, { recursive: true, force: true })
  })
  const url = new URL(databaseUrl)
  url.port = String(port)
  await eventually(async () => {
    if (child.exitCode !== null) return true
    const client = new pg.Client({ connectionString: url.href })
    client.on('error', () => {})
    await client.connect()
    await client.end()
    return true
  })
  if (child.exitCode !== null) throw new Ended(`pgbouncer ended: ${complained}`)
  return url.href
}
