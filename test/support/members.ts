import type { AnyJobType } from 'holdfast'
import { Holdfasts, type HoldfastsOptions } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorkers, type WorkerOptions, type Workers } from 'holdfast/worker'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { startProxy, type TcpProxy } from './tcp-proxy.js'

/** Several databases as one system, each behind a proxy of its own, so that it can go away. All gone when the test ends. */
export interface Members {
  readonly holdfasts: Holdfasts
  /** The address of each, by way of its proxy. */
  readonly urls: Record<string, string>
  readonly proxies: Record<string, TcpProxy>
  /** A statement in one member, past its proxy. */
  sql(member: string, text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
  /** Another member. Nobody knows of it before they are told its address. */
  add(name: string): Promise<string>
  /** Another process, as it were, which knows these members. */
  another(names?: readonly string[], options?: Omit<HoldfastsOptions, 'members'>): Holdfasts
}

export async function makeMembers(names: readonly string[]): Promise<Members> {
  const urls: Record<string, string> = {}
  const proxies: Record<string, TcpProxy> = {}
  const pools: Record<string, pg.Pool> = {}
  const add = async (name: string) => {
    const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
    onTestFinished(() => scratch.drop())
    const proxy = await startProxy(Number(new URL(scratch.connectionString).port || 5432))
    const pool = new pg.Pool({ connectionString: scratch.connectionString, max: 1 })
    pool.on('error', () => {})
    onTestFinished(() => pool.end())
    proxies[name] = proxy
    pools[name] = pool
    urls[name] = proxy.through(scratch.connectionString)
    return urls[name]
  }
  for (const name of names) await add(name)
  const another: Members['another'] = (among = Object.keys(urls), options = {}) => {
    const members = Object.fromEntries(among.map((name) => [name, urls[name] as string]))
    const made = new Holdfasts({ ...options, members })
    onTestFinished(() => made.close())
    return made
  }
  const holdfasts = another(names)
  await holdfasts.migrate()
  return {
    holdfasts,
    urls,
    proxies,
    add,
    another,
    sql: async (member, text, values = []) => (await (pools[member] as pg.Pool).query(text, values)).rows,
  }
}

export async function workFor(holdfasts: Holdfasts, types: readonly AnyJobType[], options: WorkerOptions = {}): Promise<Workers> {
  const quiet = { info() {}, warn() {}, error() {} }
  const workers = await startWorkers(holdfasts, types, { drain: 0, logger: quiet, unsafe: true, ...options })
  onTestFinished(() => workers.stop())
  return workers
}
