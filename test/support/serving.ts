import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast, type HoldfastOptions } from 'holdfast'
import { createServer, type ServerOptions } from 'holdfast/server'
import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'

export const adminKey = 'hf_a-key-that-is-long-enough'
export const quiet = { info() {}, warn() {}, error() {} }

/** A server with a database of its own, listening on a free port of this machine. */
export async function serve(options: Partial<ServerOptions> = {}, settings: HoldfastOptions = {}) {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  const holdfast = new Holdfast({ connectionString: scratch.connectionString, ...settings })
  const sql = new pg.Client({ connectionString: scratch.connectionString })
  sql.on('error', () => {})
  await sql.connect()
  const make = (more: Partial<ServerOptions> = {}) => createServer(holdfast, { adminKey, logger: quiet, ...options, ...more })
  let server = make()
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  const port = Number(new URL(address).port)
  return {
    address,
    holdfast,
    sql,
    /** With the key, unless headers of one's own are given. */
    ask: (path: string, init: RequestInit = {}) => {
      const ask = () => fetch(address + path, { headers: { authorization: `Bearer ${adminKey}` }, ...init })
      // A connection kept from before the server was away can fail once.
      return ask().catch(ask)
    },
    post: (body: unknown, type = 'application/json') =>
      fetch(`${address}/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': type },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
      }),
    /** A request with a JSON body, or without one, with the key of one's choice. */
    call: (method: string, path: string, body?: unknown, key: string | null = adminKey) =>
      fetch(address + path, {
        method,
        headers: {
          ...(key === null ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    /** The server itself, for requests that need no network. */
    app: () => server,
    async goAway() {
      await server.close()
    },
    async comeBack(more: Partial<ServerOptions> = {}) {
      await server.close()
      server = make(more)
      await server.listen({ host: '127.0.0.1', port })
    },
    async end() {
      await server.close()
      await sql.end()
      await holdfast.close()
      await scratch.drop()
    },
  }
}

export type Serving = Awaited<ReturnType<typeof serve>>

/**
 * Asks again when it may, as a client does that is answered 429. A list that takes long uses up the requests of its service, and on a
 * busy machine every list does.
 */
export async function onceThereIsTime<Answer extends { status: number; headers: Headers }>(
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 429) return answer
    await pause(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

/** Asks again what a server that has waited too long for its database answers with 503. */
export async function onceItsDatabaseAnswers<Answer extends { status: number }>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer.status !== 503) return answer
    await pause(100)
  }
}
