import { run } from 'holdfast/cli'
import { createServer } from 'holdfast/server'
import { expect, onTestFinished } from 'vitest'
import { makeQueue, type Queue } from './queue.js'
import { adminKey, quiet } from './serving.js'

/** What a person saw of a command. */
export interface Typed {
  code: number
  out: string
  err: string
}

export interface Terminal {
  /** How wide it is; left out: the output goes to a pipe. */
  columns?: number
  /** What the person answers when asked; left out: nobody is there. */
  says?: string
  stop?: AbortSignal
  /** Sees what is written, as it is written. */
  watch?: (text: string) => void
  /** A terminal with keys and signals of its own, for commands that draw on it. */
  live?: LiveTerminal
}

type LiveTerminal = NonNullable<Parameters<typeof run>[1]['live']>

export type Type = (args: readonly string[], terminal?: Terminal) => Promise<Typed>

/** The command line in this process, with an environment of its own. */
export function typing(env: Record<string, string>): Type {
  return async (args, { columns, says, stop = new AbortController().signal, watch, live } = {}) => {
    const seen = { out: '', err: '' }
    const output = (to: 'out' | 'err') => ({
      write(text: string) {
        seen[to] += text
        watch?.(text)
      },
      isTTY: columns !== undefined,
      columns,
      rows: 24,
    })
    const ask = async () => says as string
    const code = await run(args, {
      ...{ out: output('out'), err: output('err'), stop },
      env: { NO_COLOR: '1', ...env },
      ...(says !== undefined && { ask }),
      ...(live && { live }),
    })
    return { code, out: seen.out.trimEnd(), err: seen.err.trimEnd() }
  }
}

/** A queue that commands reach by its database and over HTTP. */
export interface Reached {
  queue: Queue
  database: Type
  http: Type
  /** Runs a command that only looks both ways, and answers with what both printed, which has to be the same. */
  both(...args: string[]): Promise<string>
  /** Runs each command on its own way in turn, and answers with what it printed, or its code and complaint. */
  eachWay: Record<'database' | 'http', (...args: string[]) => Promise<string>>
}

export async function reach(given?: Queue): Promise<Reached> {
  const queue = given ?? (await makeQueue())
  const server = createServer(queue.holdfast, { adminKey, logger: quiet })
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => void (await server.close()))
  const database = typing({ DATABASE_URL: queue.url })
  const http = typing({ HOLDFAST_URL: address, HOLDFAST_KEY: adminKey })
  const said =
    (type: Type) =>
    async (...args: string[]) => {
      const { code, out, err } = await type(args)
      return code === 0 ? out : `${code} ${err}`
    }
  return {
    ...{ queue, database, http },
    eachWay: { database: said(database), http: said(http) },
    async both(...args) {
      const [one, other] = [await said(database)(...args), await said(http)(...args)]
      // An age may change between the two.
      const still = (text: string) => text.replaceAll(/"oldest_ms": \d+/g, '"oldest_ms": 0').replaceAll(/\b\d+s\b/g, 'Ns')
      expect(still(other)).toBe(still(one))
      return one
    },
  }
}
