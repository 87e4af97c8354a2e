import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { eventually } from './facts.js'
import { freePort } from './free-port.js'

/** Three nodes of Patroni on this machine, with etcd, behind HAProxy. */
export interface PatroniCluster {
  /** Leads to the primary of the moment. */
  readonly url: string
  /** The name of the node that is the primary; it throws where none is known. */
  leader(): Promise<string>
  /** Changes the primary for another node, as before maintenance. */
  switchOver(): Promise<void>
  /** Kills the PostgreSQL of a node and the Patroni that would start it again. */
  kill(name: string): void
  /** Starts the Patroni of a killed node, which makes it a standby of whoever is the primary now. */
  bringBack(name: string): Promise<void>
}

interface Node {
  readonly name: string
  readonly directory: string
  readonly port: number
  readonly api: number
  process: ChildProcess
}

interface Member {
  name: string
  role: string
  state: string
  lag?: number | string
}

const identity = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}
const password = 'only-here'
const patiently = { within: 120_000 }

/** `proxy`: the configuration of HAProxy as the page has it, with its addresses. `synchronous`: no commit is acknowledged by the primary alone. */
export async function startPatroni(
  programs: { patroni: string; etcd: string; haproxy: string; binDir: string },
  { proxy, synchronous }: { proxy: string; synchronous: boolean },
): Promise<PatroniCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-patroni-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  own(directory)
  const [etcd, peers, entry] = [await freePort(), await freePort(), await freePort()]
  const at = (port: number) => `http://127.0.0.1:${port}`
  run(programs.etcd, [
    ...['--data-dir', join(directory, 'etcd'), '--listen-client-urls', at(etcd), '--advertise-client-urls', at(etcd)],
    ...['--listen-peer-urls', at(peers), '--initial-advertise-peer-urls', at(peers), '--initial-cluster', `default=${at(peers)}`],
  ])
  const start = (node: Pick<Node, 'directory'>) => run(programs.patroni, [join(node.directory, 'patroni.yml')])
  const nodes: Node[] = []
  for (const name of ['node1', 'node2', 'node3']) {
    const node = { name, directory: join(directory, name), port: await freePort(), api: await freePort() }
    mkdirSync(node.directory)
    own(node.directory)
    writeFileSync(join(node.directory, 'patroni.yml'), JSON.stringify(configurationOf(node, etcd, programs.binDir, synchronous)))
    nodes.push({ ...node, process: start(node) })
  }
  const file = join(directory, 'haproxy.cfg')
  const addressed = nodes.reduce(
    (text, { name, port, api }) =>
      text.replace(new RegExp(`server ${name} .*`), `server ${name} 127.0.0.1:${port} check port ${api}`),
    proxy.replace('*:5000', `127.0.0.1:${entry}`),
  )
  writeFileSync(file, `defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 1h\n  timeout server 1h\n${addressed}`)
  run(programs.haproxy, ['-db', '-f', file])

  const members = async (): Promise<Member[]> => {
    for (const { api } of nodes) {
      const answer = await fetch(`${at(api)}/cluster`).catch(() => undefined)
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members
    }
    throw new Error('no Patroni answers')
  }
  const named = (name: string) => nodes.find((node) => node.name === name) as Node
  const leader = async () => {
    const found = (await members()).find(({ role, state }) => role === 'leader' && state === 'running')
    if (!found) throw new Error('there is no leader')
    return found.name
  }
  /** Both standbys run, and one of them has what is acknowledged where that is asked for. */
  const follows = async () => {
    const standbys = (await members()).filter(({ role, state }) => role !== 'leader' && state === 'running')
    return standbys.length === 2 && (!synchronous || standbys.some(({ role }) => role === 'sync_standby'))
  }
  await eventually(follows, patiently)
  const url = `postgres://postgres:${password}@127.0.0.1:${entry}/postgres`
  // Until HAProxy has asked all of them, it takes each for the primary.
  await eventually(async () => {
    const standbys = await Promise.all(Array.from({ length: nodes.length }, () => isStandby(url)))
    return !standbys.includes(true)
  }, patiently)
  return {
    url,
    leader,
    async switchOver() {
      const from = await leader()
      const standby = (await members()).find(({ role }) => role === (synchronous ? 'sync_standby' : 'replica'))?.name
      const body = JSON.stringify({ leader: from, candidate: standby })
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${at(named(from).api)}/switchover`, { method: 'POST', headers, body })
      if (!answer.ok) throw new Error(`the switchover was refused: ${await answer.text()}`)
      await eventually(async () => (await leader()) !== from && follows(), patiently)
    },
    kill(name) {
      const { process: patroni, directory: at } = named(name)
      patroni.kill('SIGKILL')
      process.kill(Number.parseInt(readFileSync(join(at, 'data', 'postmaster.pid'), 'utf8'), 10), 'SIGKILL')
    },
    async bringBack(name) {
      const node = named(name)
      node.process = start(node)
      await eventually(follows, patiently)
    },
  }
}

function configurationOf(
  { name, directory, port, api }: Omit<Node, 'process'>,
  etcd: number,
  binDir: string,
  synchronous: boolean,
) {
  const dataDir = join(directory, 'data')
  return {
    scope: 'holdfast',
    name,
    restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
    etcd3: { host: `127.0.0.1:${etcd}` },
    bootstrap: {
      // The shortest times that Patroni takes.
      dcs: { ttl: 20, loop_wait: 1, retry_timeout: 3, synchronous_mode: synchronous, postgresql: { use_pg_rewind: true } },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: dataDir,
      bin_dir: binDir,
      pgpass: join(directory, 'pgpass'),
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
      authentication: { superuser: { username: 'postgres', password }, replication: { username: 'replicator', password } },
      parameters: { unix_socket_directories: directory, shared_buffers: '64MB', wal_log_hints: 'on' },
    },
  }
}

/** A program that is ended with the test, by its id. PostgreSQL does not run as root, so neither does Patroni. */
function run(program: string, args: string[]): ChildProcess {
  const child = spawn(program, args, {
    ...identity,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (said = `${said}${text}`.slice(-4_000)))
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') console.log(`${program} ${args.join(' ')} said:\n${said}`)
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  return child
}

async function isStandby(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query('select pg_is_in_recovery() as is')).rows[0].is
  } finally {
    await client.end().catch(() => {})
  }
}

function own(path: string): void {
  if (identity.uid !== undefined) chownSync(path, identity.uid, identity.gid)
}

/** Whom Debian's PostgreSQL runs as. */
function idOf(flag: string): number {
  return Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
}
